/** A problem object (RFC 9457), as the service sent it. Every field is optional here: most error bodies are not specified. */
export interface Problem {
  /** The URI of the kind of error. */
  readonly type?: string | undefined;
  /** A short summary, the same for every error of this kind. */
  readonly title?: string | undefined;
  /** The HTTP status. */
  readonly status?: number | undefined;
  /** An explanation of this one error, for people. It may quote what was sent. */
  readonly detail?: string | undefined;
  readonly [field: string]: unknown;
}

/** Reads a problem object; undefined for any other JSON. Fields of a wrong type are left out. */
export function readProblem(json: unknown): Problem | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const fields = Object.entries(json).filter(
    ([name, value]) => typeof value === (types[name] ?? typeof value),
  );
  const problem: Problem = Object.fromEntries(fields);
  return problem.title === undefined && problem.detail === undefined && problem.type === undefined
    ? undefined
    : problem;
}

const types: Readonly<Record<string, string>> = {
  type: "string",
  title: "string",
  status: "number",
  detail: "string",
};
