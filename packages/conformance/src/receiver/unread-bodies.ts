import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { sign } from "@esim-webhooks/core";
import {
  assertAnswer,
  faulted,
  recording,
  recordingLogger,
  type ScenarioByOutcome,
  secret,
} from "./scenario.ts";
import { answerOn, send, sendHalf } from "./wire.ts";

/** Bodies that do not arrive in time, or that are not accepted. */
export const unreadBodies: Pick<
  ScenarioByOutcome,
  "too_large" | "overloaded" | "body_incomplete" | "unsupported_encoding"
> = {
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
    "answers 503 immediately to the largest body when all unverified ones exceed their budget, and accepts small ones meanwhile",
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
    "answers 408 to a body that does not arrive in time, silent or byte by byte, and keeps serving others",
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
          /bytes arrived in 100 ms, a quarter of bodyTimeoutMs, and at least 4096 must/,
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
        assert.match(String(lines[0]?.["reason"]), /has a content-encoding \(gzip\), .* proxy .* inflate it/);
        const mislabelled = { headers: { ...headers, "content-encoding": "gzip" }, body };
        assertAnswer(await send(url, mislabelled), 200, "processed");
        const unsigned = { headers: { "content-encoding": "gzip" }, body: gzipSync(body) };
        assertAnswer(await send(url, unsigned), 400, "missing_header");
      });
    },
  ],
};
