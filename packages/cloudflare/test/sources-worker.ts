// A Worker whose receivers are made where the module is loaded, and ask for their keys: at /keys a key source, at /endpoints a lookup.
import { setTimeout as pause } from "node:timers/promises";
import { webhookHandler } from "@esim-webhooks/core";

export { DedupeObject } from "@esim-webhooks/cloudflare";

const secret = process.env["ESIM_WEBHOOK_SECRET"] ?? "";
const handlers = { "*": () => {} };

/** A value that arrives later, as from a KV namespace. */
async function later<Value>(value: Value): Promise<Value> {
  await pause(10);
  return value;
}

const keys = webhookHandler(handlers, { secret: { load: () => later([secret]) } });
const endpoints = webhookHandler(handlers, { endpoints: (path) => later({ source: path, secret }) });

export default {
  fetch: (request: Request, ...platform: unknown[]): Promise<Response> =>
    (new URL(request.url).pathname === "/keys" ? keys : endpoints)(request, ...platform),
};
