import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type MissWatch, watchMisses } from "@esim-webhooks/core";
import { expect, it, vi } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";

const signed = { "webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AA==" };

/** Watches a request that is answered with a status; `response.emit("finish")` ends its answer. */
function passOn(watch: MissWatch, headers: object, statusCode: number) {
  const response = Object.assign(new EventEmitter(), { statusCode });
  watch({ headers } as never as IncomingMessage, response as never as ServerResponse, "/webhooks");
  return response;
}

it("warns once of signed deliveries that are under way together and are all answered 404", () => {
  const error = vi.fn();
  const watch = watchMisses(loggerWith({ error }));
  const responses = [404, 404, 404].map((status) => passOn(watch, signed, status));
  expect(error).not.toHaveBeenCalled();
  for (const response of responses) response.emit("finish");
  expect(error.mock.calls.map(([{ code }]) => code)).toEqual(["delivery_missed"]);
  expect(passOn(watch, signed, 404).listenerCount("finish")).toBe(0); // it watches no more
});

it.each([
  ["has only some of the signature headers", { ...signed, "webhook-signature": undefined }, 404],
  ["is answered otherwise", signed, 200],
])("does not warn of a request that %s", (_, headers, status) => {
  const error = vi.fn();
  const watch = watchMisses(loggerWith({ error }));
  passOn(watch, JSON.parse(JSON.stringify(headers)), status).emit("finish");
  expect(error).not.toHaveBeenCalled();
});
