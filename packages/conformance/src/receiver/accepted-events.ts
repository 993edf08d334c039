import assert from "node:assert/strict";
import { sign, type WebhookEvent } from "@esim-webhooks/core";
import {
  assertAnswer,
  faulted,
  noHandler,
  recording,
  recordingLogger,
  type ScenarioByOutcome,
  secret,
} from "./scenario.ts";
import { send } from "./wire.ts";

/** Scenarios whose answer is 2xx, so that the sender does not send the event again. */
export const acceptedEvents: Pick<
  ScenarioByOutcome,
  | "processed"
  | "duplicate"
  | "discarded"
  | "unknown_type"
  | "unhandled_type"
  | "stored"
  | "already_stored"
  | "conflict"
> = {
  processed: [
    "answers 200 when the handler has returned",
    async (withServer) => {
      const { handlers, events } = recording();
      await withServer(handlers, { secret }, async ({ url }) => {
        const request = faulted();
        assertAnswer(await send(url, request), 200, "processed");
        assert.equal(events.length, 1);
        assert.deepEqual(events[0], { id: request.headers["webhook-id"], ...JSON.parse(request.body) });
      });
    },
  ],
  duplicate: [
    "answers 200 to a redelivery of a done event, and runs no handler",
    async (withServer) => {
      const { handlers, events } = recording();
      await withServer(handlers, { secret }, async ({ url }) => {
        const first = faulted({ id: "msg_again" });
        assertAnswer(await send(url, first), 200, "processed");
        assertAnswer(await send(url, first), 200, "duplicate");
        assert.equal(events.length, 1);
      });
    },
  ],
  discarded: [
    "answers 200 when the handler discards the event, without its reason",
    (withServer) => {
      const request = faulted();
      return withServer(
        { "*": (_, context) => context.discard("internal reason") },
        { secret },
        async ({ url }) => {
          assertAnswer(await send(url, request), 200, "discarded");
          assertAnswer(await send(url, request), 200, "duplicate");
        },
      );
    },
  ],
  unknown_type: [
    "answers 200 to an event type that the catalog does not have, and runs a handler that takes all types",
    async (withServer) => {
      const request = faulted({ fault: "unknown_type" });
      await withServer({ "package.*": noHandler["*"] }, { secret }, async ({ url }) =>
        assertAnswer(await send(url, request), 200, "unknown_type"),
      );
      const { handlers, events } = recording();
      await withServer(handlers, { secret }, async ({ url }) =>
        assertAnswer(await send(url, request), 200, "processed"),
      );
      const { type, data } = JSON.parse(request.body) as WebhookEvent;
      assert.deepEqual(
        events.map((event) => [event.type, event.data]),
        [[type, data]],
      );
    },
  ],
  unhandled_type: [
    "answers 200 to an event type without a handler",
    (withServer) =>
      withServer({ "esim.assigned": noHandler["*"] }, { secret }, async ({ url }) => {
        assertAnswer(await send(url, faulted()), 200, "unhandled_type");
      }),
  ],
  stored: [
    "answers 202 when the inbox has stored the event, byte for byte",
    async (withServer) => {
      const bodies: string[] = [];
      const inbox = {
        put: async (entries: readonly { body: Uint8Array }[]) =>
          entries.map(({ body }) => {
            bodies.push(Buffer.from(body).toString());
            return "stored" as const;
          }),
      };
      await withServer(inbox, { secret }, async ({ url }) => {
        const sent = [faulted(), faulted({ fault: "unknown_type" }), faulted({ fault: "invalid" })];
        for (const request of sent) assertAnswer(await send(url, request), 202, "stored");
        assert.deepEqual(
          bodies,
          sent.map(({ body }) => body),
        );
      });
    },
  ],
  already_stored: [
    "answers 202 when the inbox already has the event",
    (withServer) =>
      withServer({ put: async () => ["already_stored"] }, { secret }, async ({ url }) => {
        assertAnswer(await send(url, faulted()), 202, "already_stored");
      }),
  ],
  conflict: [
    "answers 202 when the id was done or stored with another body, logs an error, and runs no handler",
    async (withServer) => {
      const { handlers, events } = recording();
      const { logger, lines } = recordingLogger();
      await withServer(handlers, { secret, logger }, async ({ url }) => {
        assertAnswer(await send(url, faulted({ id: "msg_again" })), 200, "processed");
        const body = faulted().body.replace("{", "{ ");
        const headers = { ...sign({ id: "msg_again", body }, secret) };
        assertAnswer(await send(url, { headers, body }), 202, "conflict");
        assert.equal(events.length, 1);
      });
      await withServer({ put: async () => ["conflict"] }, { secret, logger }, async ({ url }) => {
        assertAnswer(await send(url, faulted()), 202, "conflict");
      });
      assert.deepEqual(
        lines.map(({ level, outcome }) => ({ level, outcome })),
        [
          { level: "info", outcome: "processed" },
          { level: "error", outcome: "conflict" },
          { level: "error", outcome: "conflict" },
        ],
      );
    },
  ],
};
