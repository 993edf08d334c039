import { WebhookError } from "@esim-webhooks/core/log-lines";

/** The functions whose options a config has: the user has not called them. */
const readersOfConfigs: readonly unknown[] = [
  "createClient",
  "createProcessor",
  "createWorker",
  "webhook receiver",
];

/** An error of a library with the place of the mistake: a file or a variable. Any other error as it is. */
export function at(place: string | undefined, error: unknown): unknown {
  if (!WebhookError.is(error) || (error as Error).name !== "WebhookError" || place === undefined)
    return error;
  const { code, problem, remedy, where, option, cause } = error;
  const isOurs = where === undefined || readersOfConfigs.includes(where);
  const named = { where: isOurs ? place : `${place}: ${where}`, option, cause };
  return new WebhookError<string>(code, problem, remedy, named);
}

/** Runs `make`. Its error names the place where the mistake was written. */
export function naming<Result>(place: string | undefined, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    throw at(place, error);
  }
}
