import {
  createReceiver,
  type DedupeStore,
  memoryStore,
  type ReceiverOptions,
  WebhookError,
  webhookHandler,
} from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";

expectWarnings("missing_secret");

const secret = newSecret();
const toBeSet = /Set ESIM_WEBHOOK_SECRET/;

function request(): Request {
  const { headers, body } = signedDelivery(secret);
  return new Request("http://127.0.0.1/webhooks", { method: "POST", headers, body });
}

function recorded() {
  const errors: { fields: Record<string, unknown>; message: string }[] = [];
  const logger = loggerWith({ error: (fields, message) => void errors.push({ fields, message }) });
  return { logger, errors };
}

beforeEach(() => vi.stubEnv("ESIM_WEBHOOK_SECRET", undefined));
afterEach(() => void vi.unstubAllEnvs());

describe("webhookHandler without a secret, as in the build of a framework", () => {
  it("can be made, answers 503 to each delivery, and logs once what to set", async () => {
    const { logger, errors } = recorded();
    const ran = vi.fn();
    const handler = webhookHandler({ "*": ran }, { logger });
    expect(errors).toEqual([]); // nothing has been turned away yet
    for (let n = 0; n < 3; n++) {
      const response = await handler(request());
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await response.json()).toMatchObject({ code: "missing_secret" });
    }
    expect(errors.filter(({ message }) => toBeSet.test(message))).toMatchObject([
      { fields: { code: "missing_secret" } },
    ]);
    expect(errors.filter(({ fields }) => fields["outcome"] === "missing_secret")).toHaveLength(1); // a second
    expect(ran).not.toHaveBeenCalled();
  });

  it("says so for a secret option that is undefined, too", async () => {
    const { logger, errors } = recorded();
    const options = { secret: process.env["NO_SUCH_SECRET"], logger } as ReceiverOptions;
    const response = await webhookHandler({ "*": () => {} }, options)(request());
    expect(response.status).toBe(503);
    expect(errors.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^The secret option is undefined/),
    );
  });

  it("works deliveries once the secret is set", async () => {
    const handler = webhookHandler({ "*": () => {} });
    expect((await handler(request())).status).toBe(503);
    vi.stubEnv("ESIM_WEBHOOK_SECRET", secret);
    expect((await handler(request())).status).toBe(200);
  });

  it("does not open its store, which would create a database where the application is built, before the first delivery", async () => {
    const ready = vi.fn(async () => {});
    const claim = vi.fn<DedupeStore["claim"]>(() => ({ status: "done" }));
    const store: DedupeStore = { ...memoryStore(), ready, claim };
    const handler = webhookHandler({ "*": () => {} }, { store, secret });
    expect([ready.mock.calls, claim.mock.calls]).toEqual([[], []]);
    await handler(request());
    expect(claim).toHaveBeenCalledOnce();
    createReceiver({ "*": () => {} }, { store, secret }); // a server, which starts where it runs
    expect(ready).toHaveBeenCalledOnce();
  });

  it("says it at start-up to who calls ready(), and nothing once the secret is set", async () => {
    const handler = webhookHandler({ "*": () => {} });
    const error = await handler.ready().catch((thrown) => thrown);
    expect(WebhookError.is(error) && error.code).toBe("missing_secret");
    expect(error.message).toMatch(toBeSet);
    vi.stubEnv("ESIM_WEBHOOK_SECRET", secret);
    await handler.ready();
  });

  it("still throws at once for every other mistake", () => {
    expect(() => webhookHandler({ "esim.fautled": () => {} } as never)).toThrow(/esim\.faulted/);
    expect(() => webhookHandler({ "*": () => {} }, { secret: "whsec_tooshort" })).toThrow(
      expect.objectContaining({ code: "invalid_secret" }),
    );
    expect(() => webhookHandler({ "*": () => {} }, { deadlineMs: 0 })).toThrow(
      expect.objectContaining({ code: "invalid_option" }),
    );
  });
});

describe("webhookHandler on a platform that ends a request's work with its answer", () => {
  it("passes the whole work, a late handler and its claim included, to waitUntil of whichever argument has it", async () => {
    const finish = Promise.withResolvers<void>();
    const handler = webhookHandler({ "*": () => finish.promise }, { secret, deadlineMs: 1 });
    const works: Promise<unknown>[] = [];
    const delivery = request();
    const again = delivery.clone();
    const context = { works, waitUntil: (work: Promise<unknown>) => void context.works.push(work) };
    expect((await handler(delivery, { params: {} }, context)).status).toBe(503);
    expect(works).toHaveLength(1);
    finish.resolve();
    await Promise.all(works);
    expect(await (await handler(again, undefined, null, context)).json()).toEqual({ outcome: "duplicate" });
  });
});

describe("webhookHandler with a key source", () => {
  it("loads no keys before the first delivery: a build loads the module, too, and Cloudflare Workers allow no I/O there", async () => {
    const load = vi.fn(async () => [secret]);
    const handler = webhookHandler({ "*": () => {} }, { secret: { load } });
    expect(load).not.toHaveBeenCalled();
    expect((await handler(request())).status).toBe(200);
    expect(load).toHaveBeenCalledTimes(1);
  });
});
