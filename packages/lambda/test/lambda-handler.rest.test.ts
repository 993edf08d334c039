import { receiverSuite } from "@esim-webhooks/conformance";
import { newSecret } from "@esim-webhooks/core/testing";
import { type HttpEvent, lambdaHandler } from "@esim-webhooks/lambda";
import type { ALBHandler, APIGatewayProxyHandler, LambdaFunctionURLHandler } from "aws-lambda";
import { build } from "esbuild";
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from "vitest";
import { loggerTo, loggerWith } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { onLambda, plainLoadBalancer, sources } from "./http-events.ts";

for (const source of sources) {
  receiverSuite(source.name, onLambda(source), { describe: describe.concurrent, it }, { bodies: "whole" });
}

const secret = newSecret();

/** A delivery as a function URL passes it on. */
function delivered(changes: Partial<HttpEvent> = {}, detail = ""): HttpEvent {
  const { headers, body } = signedDelivery(secret, { data: { detail } });
  return {
    rawPath: "/",
    headers: headers as Record<string, string>,
    body,
    isBase64Encoded: false,
    requestContext: { http: { method: "POST" } },
    ...changes,
  };
}

const remaining = (ms: number) => ({ getRemainingTimeInMillis: () => ms });

describe("lambdaHandler", () => {
  it.each([0, 500, -1, Number.NaN])(
    "answers 503 and runs nothing when Lambda says that %d ms are left",
    async (ms) => {
      const run = vi.fn();
      const handler = lambdaHandler({ "*": run }, { secret });
      const event = delivered();
      expect(await handler(event, remaining(ms))).toMatchObject({
        statusCode: 503,
        headers: { "retry-after": "5" },
        body: expect.stringContaining("deadline_reached"),
      });
      expect(run).not.toHaveBeenCalled();
      expect(await handler(event, remaining(30_000))).toMatchObject({ statusCode: 200 });
      expect(run).toHaveBeenCalledOnce();
    },
  );

  it("answers 500 and says why where a body parser in front has read the body, and runs nothing", async () => {
    const [run, error] = [vi.fn(), vi.fn()];
    const logger = loggerWith({ error });
    const handler = lambdaHandler({ "*": run }, { secret, logger });
    const event = delivered();
    const parsed = { ...event, body: JSON.parse(event.body as string) as string };
    expect(await handler(parsed)).toMatchObject({
      statusCode: 500,
      body: expect.stringContaining("body_consumed"),
    });
    expect(JSON.stringify(error.mock.calls)).toContain("Pass the raw bytes as received");
    expect(run).not.toHaveBeenCalled();
  });

  it("aborts the handler half a second before the function's own timeout, and answers 503", async () => {
    const aborted = Promise.withResolvers<unknown>();
    const handler = lambdaHandler(
      {
        "*": (_event, { signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener("abort", () => {
              aborted.resolve(signal.reason);
              resolve();
            });
          }),
      },
      { secret },
    );
    const result = await handler(delivered(), remaining(501));
    expect(result).toMatchObject({ statusCode: 503, body: expect.stringContaining("deadline_reached") });
    expect(await aborted.promise).toMatchObject({ name: "TimeoutError" });
  });

  it("keeps to deadlineMs where the function has more time, and where nothing says how much", async () => {
    const handler = lambdaHandler({ "*": () => new Promise<void>(() => {}) }, { secret, deadlineMs: 20 });
    for (const context of [remaining(900_000), undefined]) {
      expect(await handler(delivered(), context)).toMatchObject({ statusCode: 503 });
    }
  });

  it("answers 500, not 401, to a body in which API Gateway has replaced bytes, and logs the setting", async () => {
    const log = vi.fn();
    const logger = loggerTo(log);
    const handler = lambdaHandler({ "*": () => {} }, { secret, logger });
    const damaged = delivered();
    const result = await handler(
      { ...damaged, body: damaged.body?.replace("esim", "\ufffd") ?? "" },
      remaining(30_000),
    );
    expect(result).toMatchObject({ statusCode: 500, body: expect.stringContaining("body_consumed") });
    expect(JSON.stringify(log.mock.calls)).toContain('set the binary media type \\"*/*\\"');
    // the character may be the sender's own
    expect(await handler(delivered({}, "\ufffd"), remaining(30_000))).toMatchObject({ statusCode: 200 });
  });

  it("rejects an event that is not an HTTP request, and names sqsHandler", async () => {
    const handler = lambdaHandler({ "*": () => {} }, { secret });
    for (const event of [{ Records: [] }, {}, null]) {
      await expect(handler(event as never)).rejects.toMatchObject({
        code: "unknown_event_source",
        message: expect.stringContaining("sqsHandler"),
      });
    }
  });

  it("reads the headers of a request that has only multi-value ones, and answers with those", async () => {
    const { headers, ...event } = delivered();
    const multiValueHeaders = Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [name.toUpperCase(), [value ?? ""]]),
    );
    const handler = lambdaHandler({ "*": () => {} }, { secret });
    const result = await handler({ ...event, headers: null, multiValueHeaders }, remaining(30_000));
    expect(result).toMatchObject({
      statusCode: 200,
      multiValueHeaders: { "content-type": ["application/json"] },
    });
    expect(result).not.toHaveProperty("headers");
  });

  it("answers a load balancer without multi-value headers in the form that it reads", async () => {
    const server = await onLambda(plainLoadBalancer)({ "*": () => {} }, { secret }, async () => {});
    onTestFinished(() => server.close());
    const request = signedDelivery(secret);
    const response = await fetch(server.url, request);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await (await fetch(server.url, request)).json()).toEqual({ outcome: "duplicate" });
  });

  it("answers 503 once it is closed", async () => {
    const handler = lambdaHandler({ "*": () => {} }, { secret });
    await handler.ready();
    await handler.close();
    expect(await handler(delivered(), remaining(30_000))).toMatchObject({ statusCode: 503 });
    await expect(handler.ready()).rejects.toMatchObject({ code: "shutting_down" });
  });

  it("fails at start without a secret", () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", undefined);
    expect(() => lambdaHandler({ "*": () => {} })).toThrow(/ESIM_WEBHOOK_SECRET/);
    vi.unstubAllEnvs();
  });

  it("loads neither node:http nor the SDK of AWS, which take longer at a cold start than all the rest", async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: 'export { lambdaHandler } from "@esim-webhooks/lambda";',
        resolveDir: import.meta.dirname,
      },
      conditions: ["@esim-webhooks/source"],
      bundle: true,
      format: "esm",
      platform: "node",
      write: false,
    });
    const text = outputFiles[0]?.text ?? "";
    expect(text).toContain("lambdaHandler");
    expect(text).not.toMatch(/node:https?"|@aws-sdk|@smithy/);
  });

  it("has the types of the handlers in @types/aws-lambda", () => {
    const handler = lambdaHandler({ "esim.faulted": ({ data }) => void data.reason.length }, { secret });
    expectTypeOf(handler).toExtend<LambdaFunctionURLHandler>();
    expectTypeOf(handler).toExtend<APIGatewayProxyHandler>();
    expectTypeOf(handler).toExtend<ALBHandler>();
  });
});
