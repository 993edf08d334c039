import { $ZodError } from "zod/v4/core";
import { ApiError } from "../base/api-error.ts";
import type { Answered } from "./attempt.ts";
import { type Run, repeatSafely } from "./error-of.ts";
import type { Operation } from "./operation.ts";

/** Reads the JSON of an answer. Throws an `ApiError` that says what is wrong with it, and quotes nothing of it. */
export function readAnswer<T>(
  operation: Operation,
  { attempts }: Run,
  answer: Answered | undefined,
  read: (json: unknown) => T,
): T {
  const { name: where, idempotencyKey } = operation;
  const details = { where, status: answer?.status, idempotencyKey, attempts };
  const body = answer?.body ?? { kind: "empty" };

  function unreadable(shape: string): ApiError {
    const problem = `the service answered ${answer?.status} with ${shape}.`;
    const repeat = operation.isHarmless ? "" : ` ${repeatSafely(operation)}`;
    const remedy = `Check the base URL, and whether a proxy answers in place of the service.${repeat}`;
    return new ApiError("unreadable_answer", problem, remedy, details);
  }

  if (body.kind === "unreadable") {
    throw unreadable(body.shape);
  }
  try {
    return read(body.kind === "json" ? body.value : undefined);
  } catch (error) {
    if (error instanceof ApiError) throw new ApiError(error.code, error.problem, error.remedy, details);
    if (body.kind === "empty") throw unreadable("an empty body");
    throw new ApiError(
      "unexpected_answer",
      `the answer does not have the form it should have${issuesOf(error)}.`,
      readOtherwise(operation),
      details,
    );
  }
}

/** How to read an answer of another form, without doing the operation twice. */
function readOtherwise({ isConfidential, isHarmless, idempotencyKey }: Operation): string {
  if (isConfidential) return "Check the base URL, and whether the service has changed its answers.";
  if (isHarmless)
    return "If the service has changed its answers, use api.request, which reads them as they are.";
  if (idempotencyKey === undefined) return "The service did what was asked. Do not call again.";
  return "The service did what was asked. To read its answer as it is, use api.request with the same body and error.idempotencyKey; without the key, it is done twice.";
}

/** Where the answer differs, without its values. */
function issuesOf(error: unknown): string {
  if (!(error instanceof $ZodError)) return "";
  const issues = error.issues.slice(0, 5).map(({ path, message }) => `"${path.join(".")}": ${message}`);
  return `: ${issues.join("; ")}`;
}
