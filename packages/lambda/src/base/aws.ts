import { WebhookError } from "@esim-webhooks/core";
import type { LambdaErrorCode } from "./errors.ts";

/** The part of a client of the AWS SDK (version 3) that is used. */
export interface AwsClient {
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

const refusals = new Set([
  "AccessDenied",
  "AccessDeniedException",
  "CredentialsProviderError",
  "ExpiredTokenException",
  "InvalidClientTokenId",
  "InvalidSignatureException",
  "KMSAccessDeniedException",
  "UnrecognizedClientException",
]);

/** The name of an error of AWS, such as `ResourceNotFoundException`. */
export function awsErrorName(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

/** The error to reject with where AWS refuses the caller; undefined for any other. */
export function refusedBy(
  error: unknown,
  what: string,
  actions: string,
): WebhookError<LambdaErrorCode> | undefined {
  if (!refusals.has(awsErrorName(error))) return undefined;
  return new WebhookError<LambdaErrorCode>(
    "missing_rights",
    `AWS refuses access to ${what} (${awsErrorName(error)}).`,
    `Allow the function's role ${actions}, and check its credentials.`,
    { cause: error },
  );
}
