import { type RefusalCode, Refused } from "../base/refused.ts";

const statuses: Readonly<Record<RefusalCode, number>> = {
  invalid: 400,
  bad_credentials: 401,
  not_found: 404,
  not_yours: 403,
  endpoint_cap: 409,
  url_taken: 409,
  external_profile_taken: 409,
  max_profiles: 409,
  no_stock: 409,
  port_in_not_possible: 409,
  illegal_transition: 409,
  closed: 503,
};

/** Errors of the control side: `{ "error": { "code", "message" } }`. The message says what is wrong, and how to mend it. */
export function errorAnswer(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message } }, { status });
}

/** Answers what an operation has refused, and errors that are bugs of the sandbox. */
export function thrownAnswer(error: Error): Response {
  if (error instanceof Refused) return errorAnswer(statuses[error.code], error.code, error.message);
  return errorAnswer(500, "unexpected", `The sandbox has a bug: ${error.stack ?? error.message}`);
}
