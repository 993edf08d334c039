import { STATUS_CODES } from "node:http";
import type { RouteConfig } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import * as z from "zod";
import { type RefusalCode, Refused } from "../../base/refused.ts";
import type { Switches } from "../../base/switches.ts";

/** The body of an error. Its `type` is `about:blank`: which types the service has is not specified, so none is to be relied on. */
const problemSchema = z
  .object({
    type: z.string().meta({ format: "uri", description: "URI reference to error documentation" }),
    title: z.string().meta({ description: "What the status means" }),
    status: z.int(),
    detail: z.string().meta({ description: "What is wrong with this call, and how to fix it" }),
  })
  .meta({ id: "Problem" });

/** The media type of errors whose body is specified. */
const problemType = "application/problem+json";

/** The answer to a call that was refused or failed. `stated`: the statuses whose body is specified. */
export function errorAnswer(error: unknown, stated: readonly number[], switches: Switches): Response {
  const { status, message, headers } = asRefusal(error, switches);
  const title = STATUS_CODES[status] ?? "Error";
  const form = stated.includes(status) ? "problem" : switches.unstatedErrorBody;
  if (form === "empty") return new Response(null, { status, headers });
  if (form === "html") {
    const page = `<!doctype html><title>${status} ${title}</title><h1>${status} ${title}</h1>`;
    return new Response(page, {
      status,
      headers: { ...headers, "content-type": "text/html; charset=utf-8" },
    });
  }
  const problem: z.input<typeof problemSchema> = { type: "about:blank", title, status, detail: message };
  return new Response(JSON.stringify(problem), {
    status,
    headers: { ...headers, "content-type": problemType },
  });
}

function asRefusal(error: unknown, switches: Switches): HttpRefusal {
  if (error instanceof HttpRefusal) return error;
  if (error instanceof Refused) return new HttpRefusal(refusalStatus(error.code, switches), error.message);
  if (error instanceof HTTPException) return unreadable(error.status);
  return new HttpRefusal(500, `The sandbox itself failed: ${String(error)}. Please report it as a bug.`);
}

/** The refusal of a body that Hono itself cannot read. */
function unreadable(status: number): HttpRefusal {
  return status === 415
    ? new HttpRefusal(400, "The body is not marked as JSON. Send the header content-type: application/json.")
    : new HttpRefusal(400, "The body is not JSON. Correct it, and send it as UTF-8.");
}

/** Describes the errors of a call for OpenAPI, with the bodies that the switches choose. */
export function errorResponses(
  statuses: readonly number[],
  stated: readonly number[],
  switches: Switches,
): RouteConfig["responses"] {
  const bodies = {
    problem: { content: { [problemType]: { schema: problemSchema } } },
    html: { content: { "text/html": { schema: z.string() } } },
    empty: {},
  };
  return Object.fromEntries(
    [...new Set(statuses)].sort().map((status) => [
      status,
      {
        description: STATUS_CODES[status] ?? "",
        ...bodies[stated.includes(status) ? "problem" : switches.unstatedErrorBody],
      },
    ]),
  );
}

/** An error with which the API answers a call. `message` says what is wrong, and how to fix it. */
export class HttpRefusal extends Error {
  override readonly name = "HttpRefusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The status of an operation that was refused. */
function refusalStatus(code: RefusalCode, switches: Switches): number {
  const statuses: Readonly<Record<RefusalCode, number>> = {
    invalid: 400,
    bad_credentials: 401,
    not_yours: 403,
    not_found: 404,
    endpoint_cap: 409,
    url_taken: 409,
    external_profile_taken: 409,
    max_profiles: Number(switches.maxProfilesStatus),
    no_stock: 409,
    port_in_not_possible: 409,
    illegal_transition: Number(switches.illegalTransition),
    closed: 503,
  };
  return statuses[code];
}
