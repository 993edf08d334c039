import { WebhookError } from "@esim-webhooks/core";
import { awsErrorName, refusedBy } from "../base/aws.ts";
import type { LambdaErrorCode } from "../base/errors.ts";

/** The error of a mistake in the set-up; undefined for any other. */
export function setupError(place: string, cause: unknown): WebhookError<LambdaErrorCode> | undefined {
  if (awsErrorName(cause) === "ResourceNotFoundException") {
    return new WebhookError<LambdaErrorCode>(
      "unknown_table",
      `There is no ${place}.`,
      "Create it with the partition key id (S) and the time-to-live attribute ttl, in the region of the client; or correct the name.",
      { cause },
    );
  }
  if (awsErrorName(cause) === "ValidationException") {
    return new WebhookError<LambdaErrorCode>(
      "wrong_table",
      `The ${place} does not have the expected key.`,
      "Use a table whose only key is the partition key id, of the type S.",
      { cause },
    );
  }
  const actions = "dynamodb:GetItem, PutItem, UpdateItem and DeleteItem on the table";
  return refusedBy(cause, `the ${place}`, actions);
}

export function noDate(place: string): WebhookError {
  return new WebhookError(
    "store_unavailable",
    `The responses of the ${place} have no Date header, so the store does not know the time.`,
    "Let what is between the function and DynamoDB pass that header on.",
  );
}
