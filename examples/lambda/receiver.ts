import { lambdaHandler } from "@esim-webhooks/lambda";
import { secretsManagerKeys } from "@esim-webhooks/lambda/secrets-manager";
import { sqsInbox } from "@esim-webhooks/lambda/sqs";

const secret = secretsManagerKeys(process.env["SECRET_NAME"] ?? "");

export const handler = lambdaHandler(sqsInbox(process.env["QUEUE_URL"] ?? ""), { secret, logger: console });
