import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeHandler } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it, onTestFinished } from "vitest";
import { deliver } from "../../../test/deliver.ts";
import { listen } from "../../../test/listen.ts";
import { postgresUrl, redisUrl } from "../../../test/servers/shared.ts";
import { runInTest } from "../../../test/support/run-in-test.ts";
import { type Engine, openInbox } from "./open-inbox.ts";
import { type PlainSpan, plain } from "./plain-span.ts";
import { instrumented } from "./set-up.ts";

const secret = newSecret();
const planted = {
  iccid: "8932042000001234567",
  eid: "89049032004008882600012345678901",
  msisdn: "+4915112345678",
  secret,
  handler: "no luck",
};
const forged = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

function placeOf(engine: Engine): string {
  if (engine !== "SQLite") return engine === "Postgres" ? postgresUrl : redisUrl;
  const file = join(tmpdir(), `otel-${randomUUID()}.db`);
  onTestFinished(() => {
    for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
  });
  return file;
}

/** Receives an event over HTTP in this process, with a traceparent of the sender's choice, and works it in another one. */
async function trace(engine: Engine) {
  const name = `otel_${randomUUID().replaceAll("-", "")}`;
  const place = placeOf(engine);
  const { inbox } = await openInbox(engine, place, name);
  const otel = instrumented({ inbox });
  const handle = nodeHandler(inbox, { secret });
  const server = await listen(
    (request, response) =>
      void otel.inServerSpan(
        () =>
          new Promise<void>((resolve) => {
            response.on("close", resolve);
            handle(request, response);
          }),
      ),
    "/",
    async () => {},
  );
  const data = { ...sampleData("esim.faulted"), ...planted };
  const signed = signedRequest({ id: "msg_1", type: "esim.faulted", data }, { secret });
  const traceparent = `00-${forged.traceId}-${forged.spanId}-01`;
  expect(await deliver(server.url, { ...signed, headers: { ...signed.headers, traceparent } })).toBe(202);
  await server.close();

  const run = runInTest(["packages/otel/test/worker-process.ts", engine, place, name]);
  await run.line(/^working/);
  await expect.poll(async () => (await inbox.stats()).states.done).toBe(1);
  run.child.kill("SIGTERM");
  const [, spans = ""] = await run.line(/^spans (.*)$/);
  const [, metrics = ""] = await run.line(/^metrics (.*)$/);
  expect((await run.ended).code).toBe(0);
  const stored = (await inbox.get({ source: "default", id: "msg_1" }))?.trace ?? null;
  const here = otel.spans().map(plain);
  const everything = JSON.stringify([here, await otel.everything()]) + spans + metrics;
  await inbox.close();
  return { here, there: JSON.parse(spans) as PlainSpan[], stored, everything };
}

const withName = (spans: readonly PlainSpan[], name: string) => spans.filter((span) => span.name === name);

describe.each(["SQLite", "Postgres", "BullMQ"] as const)(
  "over HTTP, an inbox on %s and a worker in another process",
  (engine) => {
    it("spans are a tree in each process, linked by the stored trace, and hold nothing of the payload or of a forged traceparent", async () => {
      const { here, there, stored, everything } = await trace(engine);

      const [server] = withName(here, "POST /webhooks");
      const [send, ...otherSends] = withName(here, "send esim-webhooks");
      expect(otherSends).toEqual([]);
      expect(send).toMatchObject({
        kind: SpanKind.PRODUCER,
        parent: server?.spanId,
        traceId: server?.traceId,
        attributes: { "messaging.message.id": "msg_1", "esim_webhooks.put.result": "stored" },
      });
      const link = { traceId: send?.traceId, spanId: send?.spanId };
      // Postgres removes the trace of a done event with its body
      if (stored !== null) expect(stored).toBe(`00-${link.traceId}-${link.spanId}-01`);

      const processed = withName(there, "process esim-webhooks");
      expect(processed).toMatchObject([
        {
          kind: SpanKind.CONSUMER,
          status: { code: SpanStatusCode.ERROR },
          attributes: {
            "messaging.message.id": "msg_1",
            "error.type": "RangeError",
            "esim_webhooks.attempt": 1,
          },
        },
        {
          kind: SpanKind.CONSUMER,
          status: { code: SpanStatusCode.UNSET },
          attributes: { "esim_webhooks.attempt": 2 },
        },
      ]);
      for (const { parent, links, traceId } of processed) {
        expect(parent).toBeUndefined();
        expect(links).toMatchObject([link]);
        expect(traceId).not.toBe(link.traceId);
      }
      expect(withName(there, "own query").map(({ parent, traceId }) => [parent, traceId])).toEqual(
        processed.map(({ spanId, traceId }) => [spanId, traceId]),
      );

      // BullMQ takes and settles by itself
      const count = engine === "BullMQ" ? 0 : 2;
      const received = withName(there, "receive esim-webhooks");
      const settled = withName(there, "settle esim-webhooks");
      expect([received.length, settled.length]).toEqual([count, count]);
      for (const { kind, parent } of [...received, ...settled])
        expect([kind, parent]).toEqual([SpanKind.CLIENT, undefined]);
      for (const { links } of received) expect(links).toMatchObject([link]);
      const names = new Set(there.map(({ name }) => name));
      expect(names.size).toBe(engine === "BullMQ" ? 3 : 5); // no other ones

      for (const value of [...Object.values(planted), forged.traceId, forged.spanId])
        expect(everything).not.toContain(value);
      expect(everything).toContain("messaging.process.duration");
    });
  },
);
