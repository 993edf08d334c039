import assert from "node:assert/strict";
import {
  type DedupeStore,
  type EsimEvents,
  esimCatalog,
  type Handlers,
  memoryStore,
  sign,
} from "@esim-webhooks/core";
import { signedRequest } from "@esim-webhooks/core/testing";
import {
  assertAnswer,
  blocking,
  faulted,
  noHandler,
  recordingLogger,
  type ScenarioByOutcome,
  secret,
} from "./scenario.ts";
import { send } from "./wire.ts";

const unreachable: DedupeStore = {
  capabilities: { durable: false, multiProcess: false, transactional: false, retentionMs: 0 },
  claim: () => Promise.reject(new Error("connection refused at 10.0.0.7 with password hunter2")),
  extend: async () => false,
  complete: async () => false,
  release: async () => false,
  close: async () => {},
};

/** Scenarios whose answer is 5xx, so that the sender sends the event again. */
export const retriedEvents: Pick<
  ScenarioByOutcome,
  | "busy"
  | "failed"
  | "invalid"
  | "retry_later"
  | "deadline_reached"
  | "lease_lost"
  | "store_unavailable"
  | "internal_error"
  | "shutting_down"
> = {
  busy: [
    "answers 503 with Retry-After while the same id is being worked, and logs an error if the body is another",
    async (withServer) => {
      const { handlers, started, finish } = blocking();
      const { logger, lines } = recordingLogger();
      await withServer(handlers, { secret, logger }, async ({ url }) => {
        const request = faulted({ id: "msg_busy" });
        const first = send(url, request);
        await started;
        assertAnswer(await send(url, request), 503, "busy");
        const body = request.body.replace("{", "{ ");
        const headers = { ...sign({ id: "msg_busy", body }, secret) };
        assertAnswer(await send(url, { headers, body }), 503, "busy");
        const ofBusy = lines.filter(({ outcome }) => outcome === "busy"); // a machine that is busy, too, causes others
        assert.deepEqual(
          ofBusy.map(({ level, outcome, conflict }) => ({ level, outcome, conflict })),
          [
            { level: "info", outcome: "busy", conflict: undefined },
            { level: "error", outcome: "busy", conflict: true },
          ],
        );
        finish();
        assertAnswer(await first, 200, "processed");
      });
    },
  ],
  failed: [
    "answers 500 when the handler throws, without the error, and runs it again on the next delivery",
    async (withServer) => {
      let runs = 0;
      const handlers = {
        "*": () => {
          runs += 1;
          if (runs === 1) throw new Error("insert into orders failed for iccid 8932042000010012344");
        },
      };
      await withServer(handlers, { secret }, async ({ url }) => {
        assertAnswer(await send(url, faulted({ id: "msg_failed" })), 500, "failed");
        assertAnswer(await send(url, faulted({ id: "msg_failed" })), 200, "processed");
        assert.equal(runs, 2);
      });
    },
  ],
  invalid: [
    "answers 500 to an authentic event that does not match its schema, so that the sender retries",
    (withServer) =>
      withServer(noHandler, { secret }, async ({ url }) => {
        const noReason = { type: "esim.faulted", data: { profileReference: "1", esimReference: "2" } };
        assertAnswer(await send(url, signedRequest(noReason, { secret })), 500, "invalid");
        assertAnswer(await send(url, faulted({ fault: "invalid" })), 500, "invalid");
      }),
  ],
  retry_later: [
    "answers 503 with the Retry-After of retryLater, and runs the handler again",
    async (withServer) => {
      let ready = false;
      const handlers: Handlers<EsimEvents> = {
        "*": (_, context) => (ready ? undefined : context.retryLater(90_500)),
      };
      await withServer(handlers, { secret }, async ({ url }) => {
        const answer = await send(url, faulted({ id: "msg_later" }));
        assertAnswer(answer, 503, "retry_later");
        assert.equal(answer.headers["retry-after"], "91");
        ready = true;
        assertAnswer(await send(url, faulted({ id: "msg_later" })), 200, "processed");
      });
    },
  ],
  deadline_reached: [
    "answers 503 at the deadline, aborts the handler's signal, and still completes the claim when the handler returns",
    async (withServer) => {
      const aborted = Promise.withResolvers<void>();
      const finish = Promise.withResolvers<void>();
      let hasBegun = false;
      const handlers = {
        "*": async (_event: unknown, { signal }: { signal: AbortSignal }) => {
          hasBegun = true;
          signal.addEventListener("abort", () => aborted.resolve());
          await finish.promise;
        },
      };
      const request = faulted({ id: "msg_slow" });
      await withServer(handlers, { secret, deadlineMs: 50 }, async ({ url, shutDown }) => {
        do assertAnswer(await send(url, request), 503, "deadline_reached");
        while (!hasBegun); // if this machine stalled for deadlineMs before
        await aborted.promise;
        let again = await send(url, request);
        while (JSON.parse(again.body).code === "deadline_reached") again = await send(url, request); // this machine stalled for deadlineMs
        assertAnswer(again, 503, "busy");
        finish.resolve();
        let answer = await send(url, request);
        while (answer.status === 503) answer = await send(url, request);
        assertAnswer(answer, 200, "duplicate");
        await shutDown();
      });
    },
  ],
  lease_lost: [
    "answers 503 when another owner has taken the claim while the handler ran",
    (withServer) =>
      withServer(
        { "*": () => {} },
        { secret, store: { ...memoryStore(), complete: async () => false } },
        async ({ url }) => {
          assertAnswer(await send(url, faulted()), 503, "lease_lost");
        },
      ),
  ],
  store_unavailable: [
    "answers 503 when the store is unreachable, runs no handler, and does not show the error",
    (withServer) =>
      withServer(noHandler, { secret, store: unreachable }, async ({ url }) => {
        assertAnswer(await send(url, faulted()), 503, "store_unavailable");
      }),
  ],
  internal_error: [
    "answers 500 to an unexpected error, without its message",
    (withServer) => {
      const parse = () => {
        throw new Error("a schema library is broken");
      };
      return withServer(noHandler, { secret, catalog: { ...esimCatalog, parse } }, async ({ url }) => {
        assertAnswer(await send(url, faulted()), 500, "internal_error");
      });
    },
  ],
  shutting_down: [
    "answers 503 once it shuts down, after it has answered the deliveries in flight",
    async (withServer) => {
      const { handlers, started, finish } = blocking();
      await withServer(handlers, { secret }, async ({ url, shutDown }) => {
        const inFlight = send(url, faulted());
        await started;
        let drained = false;
        const closed = shutDown().then(() => {
          drained = true;
        });
        assertAnswer(await send(url, faulted()), 503, "shutting_down");
        assert.equal(drained, false);
        finish();
        assertAnswer(await inFlight, 200, "processed");
        await closed;
      });
    },
  ],
};
