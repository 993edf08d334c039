// the function's trigger needs ReportBatchItemFailures
import { sqsHandler } from "@esim-webhooks/lambda";
import { dynamoStore } from "@esim-webhooks/lambda/dynamodb";

const store = dynamoStore(process.env["TABLE"] ?? "");

export const handler = sqsHandler(
  { "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`) },
  { store, logger: console },
);
