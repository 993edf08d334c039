import { pageOf } from "@esim-webhooks/core/internal";
import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "../base/body-limit.ts";
import { type RefusalCode, Refused } from "../base/refused.ts";
import type { Advance } from "./advance.ts";
import { liveFeed } from "./changes.ts";
import { endpointRoutes } from "./endpoint-routes.ts";
import { esimRoutes } from "./esim-routes.ts";
import { eventRoutes, supportRoutes } from "./event-routes.ts";
import type { Parts } from "./parts.ts";
import { serviceRoutes } from "./service-routes.ts";

/** The variables that programs read, as lines for a shell or for `process.loadEnvFile`. */
export interface Environment {
  /** Where the API is, and the credentials. */
  api(): string;
  /** The secrets of the endpoints, the newest last; empty when there are none. */
  receiver(): string;
}

/**
 * The control side: what devices, networks, operators and support do, as calls with JSON in and out. A JSON answer has
 * `data`, an error is `{ "error": { "code", "message" } }`. `environment` makes the lines of `GET /environment` and
 * `GET /environment/api`.
 */
export function createControl(parts: Parts, advance: Advance, environment: Environment): Hono {
  const app = new Hono();
  app.onError(thrownAnswer);
  app.notFound(({ req }) =>
    errorAnswer(
      404,
      "not_found",
      `The control side has no ${req.method} ${req.path}. ${pageOf("docs/sandbox.md")} lists its calls.`,
    ),
  );
  app.use(guard);
  app.use(
    bodyLimit({
      tooLarge: () => errorAnswer(413, "too_large", "The body is larger than 1 MiB. Send less."),
      tooMany: () =>
        errorAnswer(
          503,
          "overloaded",
          "Other requests are sending too many bytes at the moment. Send this one again later.",
        ),
    }),
  );
  app.get("/live", () => liveFeed(parts.changes));
  app.get("/environment", ({ text }) => text(environment.api() + environment.receiver()));
  app.get("/environment/api", ({ text }) => text(environment.api()));
  app.route("/", esimRoutes(parts));
  app.route("/", endpointRoutes(parts));
  app.route("/", eventRoutes(parts));
  app.route("/", serviceRoutes(parts, advance));
  app.route("/", supportRoutes(parts));
  return app;
}

const ownNames: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Accepts only requests of this machine under a loopback name. A web page on the internet can make a browser send requests
 * here, also under a name of its own that leads to 127.0.0.1 (DNS rebinding): the Host or the Origin of such a request shows this.
 * A delivery is refused, too: its endpoint has the wrong URL.
 */
const guard: MiddlewareHandler = async (c, next) => {
  const host = c.req.header("host") ?? "";
  if (!ownNames.includes(hostnameOf(host)))
    return errorAnswer(
      403,
      "foreign_host",
      `The control side has no name "${host}". Call it at 127.0.0.1 or localhost.`,
    );
  const origin = c.req.header("origin");
  if (origin !== undefined && origin !== `http://${host}`)
    return errorAnswer(
      403,
      "foreign_origin",
      `Pages of ${origin} may not use the control side. Open its own page, or call it from a program.`,
    );
  if (c.req.header("webhook-signature") !== undefined)
    return errorAnswer(
      421,
      "misdirected_delivery",
      "A delivery has arrived at the control side of the sandbox. Register the URL of your receiver for the endpoint, such as http://127.0.0.1:3000/webhooks.",
    );
  return next();
};

function hostnameOf(host: string): string {
  return URL.parse(`http://${host}`)?.hostname ?? "";
}

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

/** Errors of the control side: `{ "error": { "code", "message" } }`. The message says what is wrong, and how to fix it. */
function errorAnswer(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message } }, { status });
}

/** Answers what an operation has refused, and errors that are bugs of the sandbox. */
function thrownAnswer(error: Error): Response {
  if (error instanceof Refused) return errorAnswer(statuses[error.code], error.code, error.message);
  return errorAnswer(500, "unexpected", `The sandbox has a bug: ${error.stack ?? error.message}`);
}
