import assert from "node:assert/strict";
import type { Skew } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import {
  assertAnswer,
  faulted,
  noHandler,
  now,
  recording,
  recordingLogger,
  type ScenarioByOutcome,
  secret,
  signedWith,
} from "./scenario.ts";
import { send } from "./wire.ts";

/** Deliveries that are not accepted: refused, or to be sent again later. */
export const unverifiedDeliveries: Pick<
  ScenarioByOutcome,
  | "missing_header"
  | "malformed_header"
  | "unusable_header"
  | "no_matching_key"
  | "key_not_yet_valid"
  | "timestamp_out_of_tolerance"
  | "rotating"
  | "keys_unavailable"
  | "method_not_allowed"
> = {
  missing_header: [
    "answers 400 when a signature header is missing",
    (withServer) =>
      withServer(noHandler, { secret }, async ({ url }) => {
        assertAnswer(await send(url, { body: "{}" }), 400, "missing_header");
      }),
  ],
  malformed_header: [
    "answers 400 when a signature header is malformed",
    (withServer) =>
      withServer(noHandler, { secret }, async ({ url }) => {
        const { headers, body } = faulted();
        const malformed = { ...headers, "webhook-signature": "v1,none" };
        assertAnswer(await send(url, { headers: malformed, body }), 400, "malformed_header");
      }),
  ],
  unusable_header: [
    "answers 503 to an authentic delivery whose id no store can hold, runs no handler, and logs an error with the id escaped and shortened",
    (withServer) => {
      const { logger, lines } = recordingLogger();
      const options = { secret, logger, clock: { now: () => now.getTime() } };
      return withServer(noHandler, options, async ({ url }) => {
        for (const id of [`msg\t${"m".repeat(1021)}`, Buffer.from("é".repeat(513)).toString("latin1"), ""]) {
          assertAnswer(await send(url, signedWith(id)), 503, "unusable_header");
          assertAnswer(await send(url, signedWith(id, { signed: "other" })), 401, "no_matching_key");
        }
        const [line] = lines.filter(({ outcome }) => outcome === "unusable_header");
        const id = `msg\\u{9}${"m".repeat(60)}… (1025 characters)`;
        assert.deepEqual([line?.["level"], line?.["id"]], ["error", id]);
      });
    },
  ],
  no_matching_key: [
    "answers 401 when no key matches, because the secret is another or the body was changed",
    (withServer) =>
      withServer(noHandler, { secret }, async ({ url }) => {
        assertAnswer(await send(url, faulted({ fault: "wrong_key" })), 401, "no_matching_key");
        assertAnswer(await send(url, faulted({ fault: "tampered" })), 401, "no_matching_key");
        const anHourAgo = new Date(Date.now() - 3_600_000);
        const stale = faulted({ fault: "wrong_key", at: anHourAgo });
        assertAnswer(await send(url, stale), 401, "no_matching_key");
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
        if (loads > 1) throw new Error("secret manager is unreachable");
        return [secret];
      };
      return withServer({ "*": () => {} }, { secret: { load } }, async ({ url }) => {
        assertAnswer(await send(url, faulted({ fault: "wrong_key" })), 503, "keys_unavailable");
        assertAnswer(await send(url, faulted()), 200, "processed");
      });
    },
  ],
  method_not_allowed: [
    "answers 405 with Allow to anything but POST",
    (withServer) =>
      withServer(noHandler, { secret }, async ({ url }) => {
        for (const method of ["GET", "PUT", "DELETE"]) {
          const answer = await send(url, { method });
          assertAnswer(answer, 405, "method_not_allowed");
          assert.equal(answer.headers["allow"], "POST");
        }
        const head = await send(url, { method: "HEAD" });
        assert.deepEqual([head.status, head.headers["allow"], head.body], [405, "POST", ""]);
      }),
  ],
};
