import { WebhookError } from "@esim-webhooks/core";
import type { LambdaErrorCode } from "./errors.ts";

/** The part of a client of the AWS SDK (version 3) that is used. */
export interface AwsClient {
  /** Makes one call, which `abortSignal` ends. */
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

/** Sends a command. Undefined if AWS answers with one of the named errors. */
export type AwsCall = <Output>(
  command: object,
  abortSignal: AbortSignal,
  ...errors: readonly string[]
) => Promise<Output | undefined>;

/** Returns a function that sends a command, and resolves to undefined if AWS answers with one of the named errors. */
export function callOf(client: AwsClient): AwsCall {
  return async <Output>(
    command: object,
    abortSignal: AbortSignal,
    ...errors: readonly string[]
  ): Promise<Output | undefined> => {
    try {
      return (await client.send(command as never, { abortSignal })) as Output;
    } catch (error) {
      if (errors.includes(awsErrorName(error))) return undefined;
      throw error;
    }
  };
}

/**
 * Throws `invalid_option` where a name is missing, as it is when it comes from an unset variable.
 * @param where the function that was called
 */
export function checkName(name: unknown, where: string, what: string, remedy: string): void {
  if (typeof name === "string" && name !== "") return;
  throw new WebhookError(
    "invalid_option",
    `there is no ${what}.`,
    `${remedy} If it comes from a variable, set that.`,
    { where },
  );
}

/** The error to reject with if AWS refuses the caller; undefined for any other error. */
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
