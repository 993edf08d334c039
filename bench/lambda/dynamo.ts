import { lambdaHandler } from "@esim-webhooks/lambda";
import { dynamoStore } from "@esim-webhooks/lambda/dynamodb";

export const handler = lambdaHandler({ "*": () => {} }, { store: dynamoStore(process.env["TABLE"] ?? "") });
