import { $ZodError } from "zod/v4/core";
import { ApiError } from "../base/api-error.ts";
import type { Answered } from "./attempt.ts";
import type { Run } from "./error-of.ts";
import type { Operation } from "./operation.ts";

/** Reads the JSON of an answer. Throws an `ApiError` that says what is wrong with it, and quotes nothing of it. */
export function readAnswer<T>(
  operation: Operation,
  { attempts }: Run,
  answer: Answered | undefined,
  read: (json: unknown) => T,
): T {
  const details = { status: answer?.status, idempotencyKey: operation.idempotencyKey, attempts };
  const body = answer?.body ?? { kind: "empty" };
  if (body.kind === "unreadable") {
    throw new ApiError(
      "unreadable_answer",
      `${operation.name}: the service answered ${answer?.status} with ${body.shape}.`,
      "Check the base URL, and whether a proxy answers in place of the service.",
      details,
    );
  }
  try {
    return read(body.kind === "json" ? body.value : undefined);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const [code, problem] =
      body.kind === "empty"
        ? (["unreadable_answer", `the service answered ${answer?.status} with an empty body`] as const)
        : ([
            "unexpected_answer",
            `the answer does not have the form it should have${issuesOf(error)}`,
          ] as const);
    throw new ApiError(
      code,
      `${operation.name}: ${problem}.`,
      "The service did what was asked. If it has changed its answers, use api.request, which reads them as they are.",
      details,
    );
  }
}

/** Where the answer differs, without its values. */
function issuesOf(error: unknown): string {
  if (!(error instanceof $ZodError)) return "";
  const issues = error.issues.slice(0, 5).map(({ path, message }) => `"${path.join(".")}": ${message}`);
  return `: ${issues.join("; ")}`;
}
