import { WebhookError } from "@esim-webhooks/core";

// the functions that read a config's options; somebody who wrote the config did not call them
const ourFunction = /^(?:createWorker|createProcessor|webhook receiver): /;

/** Runs `make`. If it finds a mistake, the error names where that was written: a file or a variable. */
export function naming<Result>(where: string | undefined, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (where === undefined || !WebhookError.is(error)) throw error;
    const problem = error.message.replace(ourFunction, "");
    throw new WebhookError<string>(error.code, `${where}:`, problem, { cause: error.cause });
  }
}
