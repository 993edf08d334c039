import { STATUS_CODES } from "node:http";
import { createRoute, type OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import * as z from "zod";
import type { Service } from "../../base/service.ts";
import type { CallContext, Environment, Middleware } from "./environment.ts";
import { errorResponses } from "./error-answer.ts";
import { idempotencyHeader } from "./idempotency.ts";
import type { IdempotencyKeys } from "./idempotency-keys.ts";

const nothing = z.object({});

/** An operation of the API: its input, its answer, and the synchronous function that does it. */
export interface Operation<
  Params extends z.ZodType = typeof nothing,
  Query extends z.ZodType = typeof nothing,
  Body extends z.ZodType = typeof nothing,
  Answer extends z.ZodType = z.ZodType,
> {
  readonly method: "get" | "post" | "patch" | "delete";
  /** Below `/api/v3`, with parameters in braces: `/management/webhooks/{webhookEndpointReference}`. */
  readonly path: string;
  readonly summary: string;
  /** The specification says that it can change without notice. */
  readonly experimental?: true;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly status: 200 | 201;
  /** The schema of the whole body, `data` included. */
  readonly answer: Answer;
  /** The error statuses that the document lists besides 401, 429 and 500, and besides those of idempotency keys. */
  readonly errors: readonly number[];
  /** The errors whose body is specified as a problem. */
  readonly problems?: readonly number[];
  /** Runs in a transaction. What it throws undoes all of it. */
  run(call: Call<Params, Query, Body>): z.input<Answer>;
}

export interface Call<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly service: Service;
  readonly clientReference: string;
  readonly params: z.output<Params>;
  readonly query: z.output<Query>;
  readonly body: z.output<Body>;
}

/** Registers an operation. The functions of the route files get it. */
export type AddOperation = <
  Params extends z.ZodType = typeof nothing,
  Query extends z.ZodType = typeof nothing,
  Body extends z.ZodType = typeof nothing,
  Answer extends z.ZodType = z.ZodType,
>(
  operation: Operation<Params, Query, Body, Answer>,
) => void;

export interface OperationParts {
  readonly app: OpenAPIHono<Environment>;
  readonly service: Service;
  readonly keys: IdempotencyKeys;
  /** Returns the middlewares that a call passes before its operation. */
  middlewares(call: string, isIdempotent: boolean, problems: readonly number[]): Middleware[];
}

export function operationAdder({ app, service, keys, middlewares }: OperationParts): AddOperation {
  return (operation) => {
    const { method, path, summary, experimental, params, query, body, status, answer, errors } = operation;
    const { problems = [] } = operation;
    const isIdempotent = method === "post" || method === "patch";
    const { inFlight } = service.switches;
    const listed = [401, 429, 500, ...errors, ...(isIdempotent ? [400, Number(inFlight), 422] : [])];
    const route: RouteConfig = {
      method,
      path,
      summary,
      ...(experimental && {
        "x-experimental": true,
        description: "Experimental: it can change without notice.",
      }),
      security: [{ bearer: [] }],
      middleware: middlewares(callName(method, path), isIdempotent, problems),
      request: {
        ...(params && { params: params as unknown as z.ZodObject }),
        ...(query && { query: query as unknown as z.ZodObject }),
        ...(isIdempotent && { headers: idempotencySchema }),
        ...(body && {
          body: { required: isRequired(body), content: { "application/json": { schema: body } } },
        }),
      },
      responses: {
        [status]: {
          description: STATUS_CODES[status] ?? "",
          content: { "application/json": { schema: answer } },
        },
        ...errorResponses(listed, problems, service.switches),
      },
    };
    app.openapi(createRoute(route), (context: CallContext) => {
      const valid = (part: string) => context.req.valid(part as never) as never;
      const text = service.db.transaction(() => {
        const result = operation.run({
          service,
          clientReference: context.get("clientReference"),
          params: valid("param"),
          query: valid("query"),
          body: valid("json"),
        });
        const key = context.get("idempotencyKey");
        const kept = service.switches.replayShowsSecret === "on" ? result : withoutSecret(result);
        if (key !== undefined) keys.keep(key, { status, contentType: jsonType, body: JSON.stringify(kept) });
        return JSON.stringify(result);
      });
      return context.body(text, status as ContentfulStatusCode, { "content-type": jsonType }) as never;
    });
  };
}

function withoutSecret(result: unknown): unknown {
  return JSON.parse(JSON.stringify(result, (name, value) => (name === "signingSecret" ? undefined : value)));
}

/** Whether a call needs a body: one without a required field may be left out. */
function isRequired(body: z.ZodType): boolean {
  return !body.safeParse({}).success;
}

const jsonType = "application/json";

const idempotencySchema = z.object({
  [idempotencyHeader.toLowerCase()]: z.string().optional().meta({
    description: "Any unique text of at most 255 characters; answers again as the first time for 48 hours.",
  }),
});

/** How faults and people name a call: `POST /esims`. */
export function callName(method: string, path: string): string {
  return `${method.toUpperCase()} ${path}`;
}
