import { channel } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  createReceiver,
  createWorker,
  type EsimEvents,
  type Handlers,
  type InboxLease,
  memoryStore,
} from "@esim-webhooks/core";
import { memoryInbox, newSecret } from "@esim-webhooks/core/testing";
import { reconcile } from "@esim-webhooks/endpoint";
import { importDeliveries } from "@esim-webhooks/import";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { root } from "../../../test/run.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { knownInbox, memoryState } from "../../endpoint/test/reconcile/memory-state.ts";
import { made, servedListing } from "../../endpoint/test/served-listing.ts";
import { instrumented, named } from "./set-up.ts";

expectWarnings("event_dead");

const secret = newSecret();

function delivery(id: string) {
  return signedDelivery(secret, { id });
}

/** Works the inbox until one attempt has ended. */
async function workOnce(
  inbox: Parameters<typeof createWorker>[0],
  handler: (signal: AbortSignal) => unknown,
  options: Parameters<typeof createWorker>[2] = {},
): Promise<void> {
  const stop = new AbortController();
  const settled = channel("esim-webhooks:settle");
  const onSettled = () => stop.abort();
  settled.subscribe(onSettled);
  const handlers = { "*": (_: unknown, { signal }: { signal: AbortSignal }) => handler(signal) as undefined };
  await createWorker(inbox, handlers, { pollMs: 5, shutdownMs: 60_000, ...options }).run({
    signal: stop.signal,
  });
  settled.unsubscribe(onSettled);
}

/** Resolves when the signal of a handler has aborted. */
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve());
  });

describe("the spans of a worker", () => {
  it("link a batch that was taken to the span that stored each of its events", async () => {
    const inbox = memoryInbox();
    const otel = instrumented();
    const receiver = createReceiver(inbox, { secret });
    for (const id of ["msg_1", "msg_2"]) await otel.inServerSpan(() => receiver.receive(delivery(id)));
    await workOnce(inbox, () => {});
    const spans = otel.spans();
    const sent = spans.filter(({ name }) => name === "send esim-webhooks");
    const { links, attributes, kind, parentSpanContext } = named(spans, "receive esim-webhooks");
    expect([kind, parentSpanContext, attributes["messaging.batch.message_count"]]).toEqual([
      SpanKind.CLIENT,
      undefined,
      2,
    ]);
    expect(links.map(({ context, attributes }) => [context.spanId, attributes])).toEqual(
      sent.map((span) => [
        span.spanContext().spanId,
        { "messaging.message.id": span.attributes["messaging.message.id"] },
      ]),
    );
  });

  it("are the client's spans for the inbox, also when it does not answer", async () => {
    const otel = instrumented();
    const inbox = memoryInbox();
    await createReceiver(inbox, { secret }).receive(delivery("msg_1"));
    let failures = 0;
    const failing = {
      ...inbox,
      take: async (options: Parameters<typeof inbox.take>[0]) => {
        failures += 1;
        if (failures === 1)
          throw Object.assign(new Error("quotes 8932042000001234567"), { code: "ECONNRESET" });
        return inbox.take(options);
      },
    };
    await workOnce(failing, () => {});
    const [failed, taken] = otel.spans().filter(({ name }) => name === "receive esim-webhooks");
    expect(failed).toMatchObject({
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "ECONNRESET", "messaging.batch.message_count": 0 },
    });
    expect(taken?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it("show that a handler has exceeded its time limit", async () => {
    const inbox = memoryInbox();
    const otel = instrumented();
    await createReceiver(inbox, { secret }).receive(delivery("msg_1"));
    const stopped = async (signal: AbortSignal) => {
      await aborted(signal);
      throw signal.reason;
    };
    await workOnce(inbox, stopped, { timeoutMs: 1, maxAttempts: 1 });
    expect(named(otel.spans(), "process esim-webhooks")).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "TimeoutError", "esim_webhooks.outcome": "failed" },
    });
    expect(await otel.metric("esim_webhooks.settlements")).toEqual({
      "outcome=dead reason=timed_out type=esim.faulted": 1,
    });
    const [duration] = Object.keys(await otel.metric("messaging.process.duration"));
    expect(duration).toContain("error.type=TimeoutError");
  });

  it("end with the handler that has lost its lease, whose result is counted as lost", async () => {
    const inbox = memoryInbox();
    const otel = instrumented();
    await createReceiver(inbox, { secret }).receive(delivery("msg_1"));
    const lostTo = { ...inbox, extend: async (leases: readonly InboxLease[]) => leases.map(() => false) };
    await workOnce(lostTo, aborted, { leaseMs: 3000 }); // it is found lost after a second, and a machine that stalls for two still starts the handler
    const { attributes, status, ended } = named(otel.spans(), "process esim-webhooks");
    expect([attributes["esim_webhooks.outcome"], status.code, ended]).toEqual([
      "processed",
      SpanStatusCode.UNSET,
      true,
    ]);
    expect(await otel.metric("esim_webhooks.settlements")).toEqual({ "outcome=lost type=esim.faulted": 1 });
    expect(await otel.metric("esim_webhooks.event.age")).toEqual({});
  });
});

describe("a traceparent of the sender", () => {
  const forged = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

  it.each(["00", "01"])(
    "with the flags %s is neither a parent nor a link, is not stored, and decides nothing about sampling",
    async (flags) => {
      const inbox = memoryInbox();
      const otel = instrumented();
      const request = delivery("msg_1");
      const headers = { ...request.headers, traceparent: `00-${forged.traceId}-${forged.spanId}-${flags}` };
      await createReceiver(inbox, { secret }).receive({ ...request, headers });
      const [stored] = await inbox.take({ limit: 1, leaseMs: 60_000 });
      await createReceiver({ "*": () => {} }, { secret, store: memoryStore() }).receive({
        ...request,
        headers,
      });
      const spans = otel.spans();
      expect(spans.map(({ name }) => name)).toEqual(["send esim-webhooks", "process esim-webhooks"]);
      for (const { parentSpanContext, links } of spans) {
        expect(parentSpanContext).toBeUndefined();
        expect(links).toEqual([]);
      }
      const { traceId, spanId } = named(spans, "send esim-webhooks").spanContext();
      expect(stored?.trace).toBe(`00-${traceId}-${spanId}-01`);
      expect(JSON.stringify(spans.map((span) => span.spanContext()))).not.toContain(forged.traceId);
    },
  );
});

describe("a run", () => {
  it("of an import has a span with its progress as events and its ledger as attributes", async () => {
    const otel = instrumented();
    const occurred = Date.now() - 3_600_000;
    const dump = [1, 2, 3]
      .map((n) => JSON.stringify(made({ id: `event-${n}`, occurredMs: occurred })))
      .join("\n");
    const options = { trustUnsigned: true, source: "default" } as const;
    await importDeliveries(Readable.from([Buffer.from(dump)]), memoryInbox(), options);
    const { attributes, events, kind, status } = named(otel.spans(), "import");
    expect([kind, status.code]).toEqual([SpanKind.INTERNAL, SpanStatusCode.UNSET]);
    expect(events.map(({ name }) => name)).toEqual(["progress"]);
    expect(attributes).toMatchObject({
      "esim_webhooks.outcome": "complete",
      "esim_webhooks.dry_run": false,
      "esim_webhooks.ledger.read": 3,
      "esim_webhooks.ledger.stored": 3,
    });
  });

  it("of reconcile has one span, without another one for the import of what it finds, and one for each call of the API", async () => {
    const otel = instrumented();
    const occurred = Date.now() - 3_600_000;
    const { api, endpoint } = servedListing(() => [made({ id: "event-1", occurredMs: occurred })]);
    const options = { state: memoryState(), since: new Date(occurred - 1000) };
    await reconcile(api, endpoint, knownInbox(), options);
    const spans = otel.spans();
    const runs = spans.filter(({ name }) => name === "reconcile" || name === "import");
    expect(runs.map(({ name, attributes }) => [name, attributes["esim_webhooks.ledger.stored"]])).toEqual([
      ["reconcile", 1],
    ]);
    const calls = spans.filter(({ attributes }) => "http.request.method" in attributes);
    expect(calls.map(({ name, kind }) => [name, kind])).toEqual([
      ["auth.token", SpanKind.CLIENT],
      ["webhooks.list", SpanKind.CLIENT],
      ["webhooks.deliveries", SpanKind.CLIENT],
    ]);
    expect(JSON.stringify(calls.map(({ attributes }) => attributes))).not.toContain(endpoint);
  });

  it("of reconcile that fails at its first page has one span too, with the error's type", async () => {
    const otel = instrumented();
    const { api, endpoint } = servedListing(() => {
      throw new TypeError("no listing");
    });
    const since = new Date(Date.now() - 1000);
    await expect(reconcile(api, endpoint, knownInbox(), { state: memoryState(), since })).rejects.toThrow();
    const runs = otel.spans().filter(({ name }) => name === "reconcile" || name === "import");
    expect(runs).toMatchObject([
      {
        name: "reconcile",
        status: { code: SpanStatusCode.ERROR },
        attributes: { "esim_webhooks.outcome": "failed" },
      },
    ]);
  });

  it("whose end is never published keeps its span until a hundred others are open", async () => {
    const otel = instrumented();
    const imported = channel("esim-webhooks:import");
    for (let n = 0; n < 250; n += 1)
      imported.publish({ run: `run ${n}`, source: "default", outcome: "running", durationMs: 0, ledger: {} });
    const ended = otel.spans().map(({ attributes }) => attributes["esim_webhooks.run"]);
    expect(ended).toEqual(Array.from({ length: 150 }, (_, n) => `run ${n}`));
  });
});

it("makes no attributes of a span that is not recorded, and runs the handler as always", async () => {
  const otel = instrumented({}, { isSampled: false });
  const ran: string[] = [];
  const handlers: Handlers<EsimEvents> = { "*": ({ id }) => void ran.push(id) };
  await createReceiver(handlers, { secret, store: memoryStore() }).receive(delivery("msg_1"));
  expect([ran, otel.spans()]).toEqual([["msg_1"], []]);
  expect(await otel.metric("messaging.process.duration")).toEqual({
    [[
      "esim_webhooks.event.type=esim.faulted",
      "messaging.destination.name=esim-webhooks",
      "messaging.operation.name=process",
      "messaging.system=esim_webhooks",
    ].join(" ")]: 1,
  });
});

it("names the version of the conventions that docs/observing.md pins", async () => {
  const otel = instrumented();
  await createReceiver(memoryInbox(), { secret }).receive(delivery("msg_1"));
  const [, pinned] =
    /OpenTelemetry, version (\d+\.\d+\.\d+)/.exec(readFileSync(join(root, "docs/observing.md"), "utf8")) ??
    [];
  const { schemaUrl } = named(otel.spans(), "send esim-webhooks").instrumentationScope;
  expect(schemaUrl).toBe(`https://opentelemetry.io/schemas/${pinned}`);
});
