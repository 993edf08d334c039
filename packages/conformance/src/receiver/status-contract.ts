import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import {
  type DedupeStore,
  discard,
  esimCatalog,
  memoryStore,
  type OutcomeCode,
  retryLater,
  type Skew,
  sign,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { newSecret, signedRequest } from "@esim-webhooks/core/testing";
import {
  assertAnswer,
  blocking,
  faulted,
  recording,
  recordingLogger,
  type Scenario,
  secret,
} from "./scenario.ts";
import { answerOn, send, sendHalf } from "./wire.ts";

/** Outcomes that no test can provoke over HTTP on every adapter: only `webhookHandler` can be made without a secret. */
type Elsewhere = "body_consumed" | "missing_secret";

const untouched = { "*": () => assert.fail("a handler ran") };

const unreachable: DedupeStore = {
  capabilities: { durable: false, multiProcess: false, transactional: false, retentionMs: 0 },
  claim: () => Promise.reject(new Error("connection refused at 10.0.0.7 with password hunter2")),
  extend: async () => false,
  complete: async () => false,
  release: async () => false,
  close: async () => {},
};

// a new outcome code does not compile until it has a test here
const byOutcome: Readonly<Record<Exclude<OutcomeCode, Elsewhere>, Scenario>> = {
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
      return withServer({ "*": () => discard("internal reason") }, { secret }, async ({ url }) => {
        assertAnswer(await send(url, request), 200, "discarded");
        assertAnswer(await send(url, request), 200, "duplicate");
      });
    },
  ],
  unknown_type: [
    "answers 200 to an event type that the catalog does not have, and runs a handler that takes all types",
    async (withServer) => {
      const request = faulted({ fault: "unknown_type" });
      await withServer({ "package.*": untouched["*"] }, { secret }, async ({ url }) =>
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
      withServer({ "esim.assigned": untouched["*"] }, { secret }, async ({ url }) => {
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
      withServer({ put: async () => ["duplicate"] }, { secret }, async ({ url }) => {
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
        assert.deepEqual(
          lines.map(({ level, outcome, conflict }) => ({ level, outcome, conflict })),
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
      withServer(untouched, { secret }, async ({ url }) => {
        const noReason = { type: "esim.faulted", data: { profileReference: "1", esimReference: "2" } };
        assertAnswer(await send(url, signedRequest(noReason, { secret })), 500, "invalid");
        assertAnswer(await send(url, faulted({ fault: "invalid" })), 500, "invalid");
      }),
  ],
  retry_later: [
    "answers 503 with the Retry-After of retryLater, and runs the handler again",
    async (withServer) => {
      let ready = false;
      const handlers = { "*": () => (ready ? undefined : retryLater(90_500)) };
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
      const handlers = {
        "*": async (_event: unknown, { signal }: { signal: AbortSignal }) => {
          signal.addEventListener("abort", () => aborted.resolve());
          await finish.promise;
        },
      };
      const request = faulted({ id: "msg_slow" });
      await withServer(handlers, { secret, deadlineMs: 50 }, async ({ url, shutDown }) => {
        assertAnswer(await send(url, request), 503, "deadline_reached");
        await aborted.promise;
        assertAnswer(await send(url, request), 503, "busy");
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
  internal_error: [
    "answers 500 to an unexpected error, without its message",
    (withServer) => {
      const parse = () => {
        throw new Error("a schema library is broken");
      };
      return withServer(untouched, { secret, catalog: { ...esimCatalog, parse } }, async ({ url }) => {
        assertAnswer(await send(url, faulted()), 500, "internal_error");
      });
    },
  ],
  store_unavailable: [
    "answers 503 when the store is unreachable, runs no handler, and does not show the error",
    (withServer) =>
      withServer(untouched, { secret, store: unreachable }, async ({ url }) => {
        assertAnswer(await send(url, faulted()), 503, "store_unavailable");
      }),
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
  rotating: [
    "answers 503 when no key matches while the key source reports a rotation",
    (withServer) => {
      const rotatingUntil = new Date(Date.now() + 60_000);
      const source = { load: async () => ({ keys: [secret], rotatingUntil }) };
      return withServer({ "*": () => {} }, { secret: source }, async ({ url }) => {
        assertAnswer(await send(url, faulted({ fault: "wrong_key" })), 503, "rotating");
        assertAnswer(await send(url, faulted()), 200, "processed");
      });
    },
  ],
  keys_unavailable: [
    "answers 503 when no key matches and the key source cannot be loaded, and still accepts the loaded keys",
    (withServer) => {
      let loads = 0;
      const load = async () => {
        loads += 1;
        if (loads > 1) throw new Error("secret manager is away");
        return [secret];
      };
      return withServer({ "*": () => {} }, { secret: { load } }, async ({ url }) => {
        assertAnswer(await send(url, faulted({ fault: "wrong_key" })), 503, "keys_unavailable");
        assertAnswer(await send(url, faulted()), 200, "processed");
      });
    },
  ],
  missing_header: [
    "answers 400 when a signature header is missing",
    (withServer) =>
      withServer(untouched, { secret }, async ({ url }) => {
        assertAnswer(await send(url, { body: "{}" }), 400, "missing_header");
      }),
  ],
  malformed_header: [
    "answers 400 when a signature header is malformed",
    (withServer) =>
      withServer(untouched, { secret }, async ({ url }) => {
        const { headers, body } = faulted();
        const malformed = { ...headers, "webhook-timestamp": "yesterday" };
        assertAnswer(await send(url, { headers: malformed, body }), 400, "malformed_header");
      }),
  ],
  key_not_yet_valid: [
    "answers 503 to a delivery whose key begins to be valid later, 401 to a forged one, and accepts the key from then on",
    async (withServer) => {
      const notBefore = new Date("2026-11-20T12:00:00Z");
      const time = { now: notBefore.getTime() - 1 };
      const { handlers, events } = recording();
      const options = { secret: [newSecret(), { secret, notBefore }], clock: { now: () => time.now } };
      await withServer(handlers, options, async ({ url }) => {
        const request = faulted({ at: notBefore });
        const forged = faulted({ at: notBefore, fault: "wrong_key" });
        assertAnswer(await send(url, request), 503, "key_not_yet_valid");
        assertAnswer(await send(url, forged), 401, "no_matching_key");
        assert.equal(events.length, 0);
        time.now += 1;
        assertAnswer(await send(url, request), 200, "processed");
      });
    },
  ],
  timestamp_out_of_tolerance: [
    "answers 503 to an authentic delivery whose timestamp is outside the tolerance, runs no handler, logs the skew, and accepts the next attempt",
    async (withServer) => {
      for (const direction of ["past", "future"] as const) {
        const { handlers, events } = recording();
        const { logger, lines } = recordingLogger();
        await withServer(handlers, { secret, logger }, async ({ url }) => {
          const skewed = faulted({ id: "msg_skewed", fault: direction === "past" ? "stale" : "future" });
          assertAnswer(await send(url, skewed), 503, "timestamp_out_of_tolerance");
          const { level, outcome, id, skew } = lines.pop() ?? {};
          assert.deepEqual([level, outcome, id], ["error", "timestamp_out_of_tolerance", "msg_skewed"]);
          assert.equal((skew as Skew).direction, direction);
          assert.ok((skew as Skew).seconds > 300);
          assert.equal(events.length, 0);
          assertAnswer(await send(url, faulted({ id: "msg_skewed" })), 200, "processed");
        });
      }
    },
  ],
  no_matching_key: [
    "answers 401 when no key matches, because the secret is another or the body was changed",
    (withServer) =>
      withServer(untouched, { secret }, async ({ url }) => {
        assertAnswer(await send(url, faulted({ fault: "wrong_key" })), 401, "no_matching_key");
        assertAnswer(await send(url, faulted({ fault: "tampered" })), 401, "no_matching_key");
        const anHourAgo = new Date(Date.now() - 3_600_000);
        const stale = faulted({ fault: "wrong_key", at: anHourAgo });
        assertAnswer(await send(url, stale), 401, "no_matching_key");
      }),
  ],
  method_not_allowed: [
    "answers 405 with Allow to anything but POST",
    (withServer) =>
      withServer(untouched, { secret }, async ({ url }) => {
        for (const method of ["GET", "PUT", "DELETE"]) {
          const answer = await send(url, { method });
          assertAnswer(answer, 405, "method_not_allowed");
          assert.equal(answer.headers["allow"], "POST");
        }
        const head = await send(url, { method: "HEAD" });
        assert.deepEqual([head.status, head.headers["allow"], head.body], [405, "POST", ""]);
      }),
  ],
  too_large: [
    "answers 503 to a body over the limit (1 MiB unless set), announced or not, names the option in an error of the log, and accepts one at the limit",
    async (withServer) => {
      const { handlers, events } = recording();
      const { logger, lines } = recordingLogger();
      const atLimit = faulted();
      const maxBodyBytes = Buffer.byteLength(atLimit.body);
      await withServer(handlers, { secret, maxBodyBytes, logger }, async ({ url }) => {
        const body = Buffer.alloc(3 * 1024 * 1024, 0x20);
        assertAnswer(await send(url, { headers: atLimit.headers, body }), 503, "too_large");
        const chunks = Array.from({ length: 48 }, () => body.subarray(0, 64 * 1024));
        assertAnswer(await send(url, { headers: atLimit.headers, body: chunks }), 503, "too_large");
        assert.equal(events.length, 0);
        assert.equal(lines[0]?.["level"], "error");
        assert.equal(lines[0]?.["id"], atLimit.headers["webhook-id"]);
        assert.match(String(lines[0]?.["reason"]), /maxBodyBytes .* 3145728 bytes: raise the option/);
        assertAnswer(await send(url, atLimit), 200, "processed");
      });
      const mebibyte = 1024 * 1024;
      const padded = (size: number) => {
        const body = faulted().body.padEnd(size);
        return { headers: { ...sign({ id: `msg_${size}`, body }, secret) }, body };
      };
      await withServer(handlers, { secret }, async ({ url }) => {
        assertAnswer(await send(url, padded(mebibyte)), 200, "processed");
        assertAnswer(await send(url, padded(mebibyte + 1)), 503, "too_large");
      });
    },
  ],
  overloaded: [
    "answers 503 at once to the largest body when all unverified ones are over their budget, and accepts small ones meanwhile",
    async (withServer) => {
      const { handlers, events } = recording();
      const { logger, lines } = recordingLogger();
      const options = { secret, logger, maxBodyBytes: 65_536, maxUnverifiedBytes: 65_536 };
      await withServer(handlers, options, async ({ url }) => {
        const { headers } = faulted();
        const silent = await Promise.all(
          [40_000, 45_000, 50_000].map((bytes) => sendHalf(url, headers, "x".repeat(bytes), bytes + 1)),
        );
        const answers = silent.map(answerOn);
        assertAnswer(await Promise.race(answers), 503, "overloaded");
        assertAnswer(await send(url, faulted()), 200, "processed");
        assert.equal(events.length, 1);
        assert.equal(lines[0]?.["level"], "error");
        assert.match(String(lines[0]?.["reason"]), /more than maxUnverifiedBytes \(65536\)/);
        for (const answer of answers) answer.catch(() => {});
        for (const socket of silent) socket.destroy();
      });
    },
  ],
  body_incomplete: [
    "answers 408 to a body that does not come in time, silent or byte by byte, and keeps serving others",
    async (withServer) => {
      const { handlers, events } = recording();
      const { logger, lines } = recordingLogger();
      await withServer(handlers, { secret, logger, bodyTimeoutMs: 400 }, async ({ url }) => {
        const { headers, body } = faulted();
        const silent = await sendHalf(url, headers, body.slice(0, 40), body.length);
        const dripping = await sendHalf(url, headers, "", 1_000_000);
        const drip = setInterval(() => dripping.write("x"), 10);
        const answers = [silent, dripping].map(answerOn);
        assertAnswer(await send(url, faulted()), 200, "processed");
        for (const answer of answers) assertAnswer(await answer, 408, "body_incomplete");
        clearInterval(drip);
        for (const socket of [silent, dripping]) socket.destroy();
        assert.equal(events.length, 1);
        const { level, reason } = lines.find(({ outcome }) => outcome === "body_incomplete") ?? {};
        assert.equal(level, "warn");
        assert.match(
          String(reason),
          /bytes came in 100 ms, a quarter of bodyTimeoutMs, and at least 4096 must/,
        );
      });
    },
  ],
  unsupported_encoding: [
    "answers 503 to a content-encoding unless the bytes are signed as they came, inflates nothing, and logs an error",
    async (withServer) => {
      const { handlers, events } = recording();
      const { logger, lines } = recordingLogger();
      await withServer(handlers, { secret, logger }, async ({ url }) => {
        const { headers, body } = faulted();
        for (const encoding of ["gzip", "br", "zstd", "gzip, br", "gzip,br", ["gzip", "identity"]]) {
          const encoded = { headers: { ...headers, "content-encoding": encoding }, body: gzipSync(body) };
          assertAnswer(await send(url, encoded), 503, "unsupported_encoding");
        }
        assert.equal(events.length, 0);
        assert.equal(lines[0]?.["level"], "error");
        assert.match(String(lines[0]?.["reason"]), /has a content-encoding.* proxy .* inflate it/);
        const mislabelled = { headers: { ...headers, "content-encoding": "gzip" }, body };
        assertAnswer(await send(url, mislabelled), 200, "processed");
        const unsigned = { headers: { "content-encoding": "gzip" }, body: gzipSync(body) };
        assertAnswer(await send(url, unsigned), 400, "missing_header");
      });
    },
  ],
};

export const statusContract: readonly Scenario[] = Object.values(byOutcome);
