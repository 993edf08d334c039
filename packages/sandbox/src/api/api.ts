import { OpenAPIHono } from "@hono/zod-openapi";
import { Hono } from "hono";
import type * as z from "zod";
import { clientOfToken } from "../account/tokens.ts";
import { bodyLimit, maxBodyBytes } from "../base/body-limit.ts";
import type { Faults } from "../base/faults.ts";
import { problemsOf, Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import type { Switches } from "../base/switches.ts";
import type { Sender } from "../sender/sender.ts";
import { answerStruck, effectStruck } from "./call/call-faults.ts";
import type { CallContext, Environment, Middleware } from "./call/environment.ts";
import { errorAnswer, HttpRefusal } from "./call/error-answer.ts";
import { idempotent } from "./call/idempotency.ts";
import { createIdempotencyKeys } from "./call/idempotency-keys.ts";
import { type AddOperation, callName, operationAdder } from "./call/operation.ts";
import { limited, type RateLimits } from "./call/rate-limit.ts";
import { addAccountOperations } from "./routes/account.ts";
import { addEsimOperations, addNumberOperations, addPortInOperations } from "./routes/esims.ts";
import { addTokenEndpoint, tokenPath } from "./routes/token.ts";
import { addWebhookOperations } from "./routes/webhooks.ts";

/** Where the API is, below the address of its listener. */
export const basePath = "/api/v3";

/** The API of the service, as a Hono app for a Node.js server. Faults that cut a connection need the server. */
export function createApi(
  service: Service,
  faults: Faults,
  sender: Pick<Sender, "watchNewDeliveries">,
  { calls, tokens }: RateLimits,
): Hono<Environment> {
  const operations = new OpenAPIHono<Environment>({
    defaultHook: (read) => {
      if (!read.success) throw invalidCall(read.error);
    },
  });
  const keys = createIdempotencyKeys(service);
  const callerOf = (context: CallContext) => context.get("clientReference");

  const middlewares = (call: string, isIdempotent: boolean, problems: readonly number[]): Middleware[] => [
    stating(problems),
    withinLimit,
    authenticated(service),
    limited(service, calls, callerOf),
    answerStruck(service, faults, call, (context) => calls.refusal(callerOf(context))),
    ...(isIdempotent ? [idempotent(service, keys)] : []),
    effectStruck(sender),
  ];
  const add = operationAdder({ app: operations, service, keys, middlewares });
  addTokenEndpoint(operations, service, [
    stating([]),
    withinLimit,
    limited(service, tokens, () => "all clients"),
    answerStruck(service, faults, callName("post", tokenPath), () => tokens.refusal("all clients")),
    effectStruck(sender),
  ]);
  addOperations(add, service.switches);
  addDocument(operations);
  addOtherMethods(operations);

  const app = new Hono<Environment>().route(basePath, operations);
  app.onError((error, context) => errorAnswer(error, context.get("statedProblems") ?? [], service.switches));
  app.notFound(() => {
    const refusal = new HttpRefusal(
      404,
      `There is nothing at this path. ${basePath}/openapi.json lists all.`,
    );
    return errorAnswer(refusal, [], service.switches);
  });
  return app;
}

function stating(problems: readonly number[]): Middleware {
  return async (context, next) => {
    context.set("statedProblems", problems);
    await next();
  };
}

const withinLimit: Middleware = bodyLimit({
  tooLarge() {
    throw new HttpRefusal(413, `The body is larger than ${maxBodyBytes} bytes. Send a smaller one.`);
  },
  tooMany() {
    throw new HttpRefusal(
      503,
      "Other requests are sending too many bytes at the moment. Send this one again later.",
    );
  },
});

/** Answers 405 at paths that have other methods. */
function addOtherMethods(app: OpenAPIHono<Environment>): void {
  const methods = Map.groupBy(app.routes, ({ path }) => path);
  for (const [path, routes] of methods) {
    const allow = [...new Set(routes.map(({ method }) => method))].join(", ");
    app.all(path, () => {
      throw new HttpRefusal(405, `This path takes ${allow}. Use one of these methods.`, { allow });
    });
  }
}

function invalidCall(error: z.ZodError): Refused {
  return new Refused("invalid", `${problemsOf(error)}. Correct it.`);
}

/** Adds every operation of the API except the token endpoint, which is not like the others. */
function addOperations(add: AddOperation, switches: Switches): void {
  addAccountOperations(add);
  addWebhookOperations(add);
  addEsimOperations(add, switches);
  addPortInOperations(add);
  addNumberOperations(add, switches);
}

/** The names of all calls of the API, such as `POST /esims`. */
export function callNames(switches: Switches): string[] {
  const names = [callName("post", tokenPath)];
  addOperations(({ method, path }) => names.push(callName(method, path)), switches);
  return names;
}

/** Lets calls with a valid token pass, and notes whose token it is. */
function authenticated(service: Service): Middleware {
  return async (context, next) => {
    const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    const clientReference = token === undefined ? undefined : clientOfToken(service, token);
    if (clientReference === undefined) {
      throw new HttpRefusal(
        401,
        "The call has no valid access token. Get one with POST /auth/token, and send it as Authorization: Bearer <token>. A token is valid for 24 hours.",
        { "www-authenticate": "Bearer" },
      );
    }
    context.set("clientReference", clientReference);
    await next();
  };
}

/** Serves the OpenAPI 3.1 document of the operations that were added, at `/openapi.json`. Needs no token. */
function addDocument(app: OpenAPIHono<Environment>): void {
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
