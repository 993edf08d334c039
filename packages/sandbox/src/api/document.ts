import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Environment } from "./call/environment.ts";

/** Serves the OpenAPI 3.1 document of the operations that were added, at `/openapi.json`. Needs no token. */
export function addDocument(app: OpenAPIHono<Environment>): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  app.get("/openapi.json", (context) =>
    context.json(
      app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: {
          title: "Mobile Connectivity Partner API, as the sandbox of esim-webhooks serves it",
          version: "3.8.0",
        },
        servers: [{ url: "/api/v3" }],
      }),
    ),
  );
}
