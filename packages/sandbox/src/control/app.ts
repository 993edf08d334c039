import { pageOf } from "@esim-webhooks/core/kit";
import { Hono } from "hono";
import { bodyLimit } from "../base/body-limit.ts";
import type { Advance } from "./advance.ts";
import { endpointRoutes } from "./endpoint-routes.ts";
import { errorAnswer, thrownAnswer } from "./errors.ts";
import { esimRoutes } from "./esim-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { guard } from "./guard.ts";
import { liveFeed } from "./live.ts";
import type { Parts } from "./parts.ts";
import { serviceRoutes } from "./service-routes.ts";
import { supportRoutes } from "./support-routes.ts";

/**
 * The control side: what devices, networks, operators and support do, as calls with JSON in and out. An answer is
 * `{ "data" }`, an error is `{ "error": { "code", "message" } }`. `environment` makes the lines of `GET /environment`.
 */
export function createControl(parts: Parts, advance: Advance, environment: () => string): Hono {
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
  app.get("/environment", ({ text }) => text(environment()));
  app.route("/", esimRoutes(parts));
  app.route("/", endpointRoutes(parts));
  app.route("/", eventRoutes(parts));
  app.route("/", serviceRoutes(parts, advance));
  app.route("/", supportRoutes(parts));
  return app;
}
