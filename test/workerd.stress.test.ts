import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installed } from "./installed.ts";
import { root } from "./run.ts";

/** The part of miniflare's `Miniflare` that the tests use. */
interface Workerd {
  dispatchFetch(url: string, request?: RequestInit): Promise<Response>;
  dispose(): Promise<void>;
}

const url = "http://localhost/webhooks";
const secret = newSecret();
let workerd: Workerd;

/** A worker as its README writes it. A GET answers with the ids that were handled. */
const worker = `
import { webhookHandler } from "@esim-webhooks/core";
const handled = [];
const handlers = {
  "esim.faulted": async ({ id }) => {
    await new Promise((resolve) => setTimeout(resolve, 1)); // so that its claim has a timer
    handled.push(id);
  },
};
const receive = webhookHandler(handlers, { secret: ${JSON.stringify(secret)} });
export default { fetch: (request) => (request.method === "GET" ? Response.json(handled) : receive(request)) };`;

beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: { contents: worker, resolveDir: root },
    conditions: ["@esim-webhooks/source"],
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
  });
  const entry = join(installed("test/workerd"), "miniflare/dist/src/index.js");
  const { Miniflare } = await import(pathToFileURL(entry).href);
  workerd = new Miniflare({
    modules: true,
    script: outputFiles[0]?.text,
    compatibilityDate: "2026-01-01",
    compatibilityFlags: ["nodejs_compat"],
  });
});

afterAll(() => workerd.dispose());

describe("webhookHandler on workerd, the runtime of Cloudflare Workers, with nodejs_compat", () => {
  const deliver = async (request: RequestInit) => {
    const response = await workerd.dispatchFetch(url, request);
    return [response.status, await response.json()];
  };

  it("handles a delivery once, and answers 200 to it and to its redelivery", async () => {
    const event = { type: "esim.faulted", data: sampleData("esim.faulted"), id: "msg_1" } as const;
    const request = signedRequest(event, { secret });
    expect(await deliver(request)).toEqual([200, { outcome: "processed" }]);
    expect(await deliver(request)).toEqual([200, { outcome: "duplicate" }]);
    expect(await (await workerd.dispatchFetch(url)).json()).toEqual(["msg_1"]);
  });

  it("refuses a forged delivery", async () => {
    const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;
    const forged = signedRequest(event, { secret: newSecret() });
    expect(await deliver(forged)).toMatchObject([401, { code: "no_matching_key" }]);
  });
});
