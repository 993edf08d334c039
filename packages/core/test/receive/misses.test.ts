import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Logger, watchMisses } from "@esim-webhooks/core";
import { expect, it, vi } from "vitest";

it("warns once of signed deliveries that are under way together and are all answered 404", () => {
  const error = vi.fn();
  const logger: Logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error };
  const watch = watchMisses(logger);
  const signed = { "webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AA==" };
  const responses = [404, 404, 404].map((statusCode) => Object.assign(new EventEmitter(), { statusCode }));
  for (const response of responses) {
    watch({ headers: signed } as never as IncomingMessage, response as never as ServerResponse, "/webhooks");
  }
  expect(error).not.toHaveBeenCalled();
  for (const response of responses) response.emit("finish");
  expect(error.mock.calls.map(([{ code }]) => code)).toEqual(["delivery_missed"]);
});
