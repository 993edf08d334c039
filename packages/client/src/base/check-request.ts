import { en } from "zod/locales";
import * as z from "zod/mini";
import { $ZodError } from "zod/v4/core";
import { ApiError } from "./api-error.ts";

/** The schema of each field. */
export type Fields<Request> = { readonly [Name in keyof Request]-?: z.core.$ZodType<Request[Name]> };

/** A schema of a request with these fields and no others. */
export function requestSchema<Request>(fields: Fields<Request>): z.ZodMiniType<Request> {
  return z.strictObject(fields) as unknown as z.ZodMiniType<Request>;
}

/**
 * Checks a request before it is sent. Throws `invalid_request`, which names the wrong fields, but not their values.
 * @param name the name of the operation
 */
export function checkRequest<Request>(
  name: string,
  schema: z.ZodMiniType<Request>,
  request: unknown,
): Request {
  try {
    return parseWith(schema, request);
  } catch (error) {
    if (!(error instanceof $ZodError)) throw error;
    throw invalidRequest(name, error.issues.map(issueText).join("; "), remedyFor(error.issues));
  }
}

export function invalidRequest(name: string, problem: string, remedy: string): ApiError {
  return new ApiError("invalid_request", `${problem}.`, `${remedy} Nothing was sent.`, { where: name });
}

type Issue = z.core.$ZodIssue;

function issueText(issue: Issue): string {
  const place = issue.path.join(".");
  if (issue.code !== "unrecognized_keys")
    return place === "" ? issue.message : `"${place}": ${issue.message}`;
  const keys = issue.keys.map((key) => `"${place === "" ? key : `${place}.${key}`}"`);
  return `there is no field ${keys.join(", ")}`;
}

function remedyFor(issues: readonly Issue[]): string {
  return issues.some(({ code }) => code === "unrecognized_keys")
    ? "Remove it, or use api.request for a field that the API has since."
    : "Correct the fields.";
}

// zod/mini has no messages of its own
const error = en().localeError;

/** Parses with a schema, with messages that name what was expected. Throws a `$ZodError`. */
export function parseWith<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  return schema.parse(value, { error });
}
