import { channel } from "node:diagnostics_channel";
import {
  createProcessor,
  createReceiver,
  createWorker,
  type EsimEvents,
  type Handlers,
  memoryStore,
} from "@esim-webhooks/core";
import { watchDrift } from "@esim-webhooks/core/drift";
import { observe } from "@esim-webhooks/core/observe";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { instrument } from "@esim-webhooks/otel";
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { describe, expect, it, onTestFinished } from "vitest";
import { loggerTo } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { memoryState } from "../../endpoint/test/reconcile/memory-state.ts";
import { instrumented, named } from "./set-up.ts";

expectWarnings("event_dead", "failed", "no_matching_key", "timestamp_out_of_tolerance");

const secret = newSecret();
const iccid = "8932042000001234567";

function delivery(id: string, type: "esim.faulted" | "esim.enabled" = "esim.faulted") {
  return signedDelivery(secret, { id, type, data: { iccid } });
}

describe("instrument", () => {
  it("makes a process span of an inline handler, as a child of the HTTP server's span, with the handler's own spans inside", async () => {
    const otel = instrumented();
    const handlers: Handlers<EsimEvents> = { "*": () => otel.inSpan("own query", () => {}) };
    const receiver = createReceiver(handlers, { secret, store: memoryStore() });
    await otel.inServerSpan(() => receiver.receive(delivery("msg_1")));
    const spans = otel.spans();
    const server = named(spans, "POST /webhooks").spanContext();
    const process = named(spans, "process esim-webhooks");
    expect(process.kind).toBe(SpanKind.CONSUMER);
    expect(process.parentSpanContext?.spanId).toBe(server.spanId);
    expect(named(spans, "own query").parentSpanContext?.spanId).toBe(process.spanContext().spanId);
    expect(process.attributes).toMatchObject({
      "messaging.system": "esim_webhooks",
      "messaging.operation.name": "process",
      "messaging.message.id": "msg_1",
      "esim_webhooks.event.type": "esim.faulted",
      "esim_webhooks.outcome": "processed",
    });
    expect(process.status.code).toBe(SpanStatusCode.UNSET);
  });

  it("makes spans of put, take, handler and settle; the handler's is a root linked to the put's", async () => {
    const inbox = memoryInbox();
    const otel = instrumented({ inbox });
    await otel.inServerSpan(() => createReceiver(inbox, { secret }).receive(delivery("msg_1")));
    const stop = new AbortController();
    const worker = createWorker(inbox, { "*": () => stop.abort() }, { pollMs: 5 });
    // a span that is current where the worker is started is not the parent of what it does
    await otel.inServerSpan(() => worker.run({ signal: stop.signal }));
    const spans = otel.spans();
    const send = named(spans, "send esim-webhooks");
    expect(send.kind).toBe(SpanKind.PRODUCER);
    expect(send.parentSpanContext?.spanId).toBe(named(spans, "POST /webhooks").spanContext().spanId);
    const process = named(spans, "process esim-webhooks");
    expect(process.parentSpanContext).toBeUndefined();
    expect(process.links.map(({ context: { spanId } }) => spanId)).toEqual([send.spanContext().spanId]);
    expect(process.spanContext().traceId).not.toBe(send.spanContext().traceId);
    const receive = named(spans, "receive esim-webhooks");
    expect([receive.kind, receive.attributes["messaging.batch.message_count"]]).toEqual([SpanKind.CLIENT, 1]);
    const settle = named(spans, "settle esim-webhooks");
    expect([settle.kind, settle.parentSpanContext]).toEqual([SpanKind.CLIENT, undefined]);
  });

  it("gives the log line of a delivery the ids of the server's span, and that of an event the ids of its handler's", async () => {
    const inbox = memoryInbox();
    const otel = instrumented({ inbox });
    const lines: Record<string, unknown>[] = [];
    const write = (fields: Record<string, unknown>, message: string) =>
      void lines.push({ message, ...fields });
    const logger = loggerTo(write);
    const stop = new AbortController();
    const receiver = createReceiver(inbox, { secret, logger });
    await otel.inServerSpan(() => receiver.receive(delivery("msg_1")));
    const handler = async () => {
      await new Promise(setImmediate);
      stop.abort();
    };
    await createWorker(inbox, { "*": handler }, { pollMs: 5, logger }).run({ signal: stop.signal });
    const idsOf = (name: string) => {
      const { traceId, spanId } = named(otel.spans(), name).spanContext();
      return { trace_id: traceId, span_id: spanId };
    };
    const known = { id: "msg_1", type: "esim.faulted", source: "default" };
    expect(lines).toEqual([
      {
        message: "webhook delivery",
        ...known,
        key: expect.stringMatching(/^key:/),
        outcome: "stored",
        durationMs: expect.any(Number),
        ...idsOf("POST /webhooks"),
      },
      {
        message: "webhook event",
        ...known,
        attempt: 1,
        outcome: "done",
        durationMs: expect.any(Number),
        waitMs: expect.any(Number),
        ...idsOf("process esim-webhooks"),
      },
    ]);
  });

  it("gives each settlement one log line with the ids of the span of its own attempt, also if the event dies or its lease was lost", async () => {
    const inbox = memoryInbox();
    const otel = instrumented({ inbox });
    const seen: unknown[] = [];
    onTestFinished(observe({ settle: ({ id, attempt, outcome }) => void seen.push([id, attempt, outcome]) }));
    const lines: Record<string, unknown>[] = [];
    const stop = new AbortController();
    const write = (fields: Record<string, unknown>, message: string) => {
      if (message === "webhook event") lines.push(fields);
      if (lines.length === 5) stop.abort();
    };
    const logger = loggerTo(write);
    const receiver = createReceiver(inbox, { secret });
    for (const id of ["msg_dead", "msg_lost", "msg_later"]) await receiver.receive(delivery(id));
    await receiver.receive(delivery("msg_unhandled", "esim.enabled"));
    const handlers: Handlers<EsimEvents> = {
      "esim.faulted": ({ id }, context) => {
        if (id === "msg_dead") throw new RangeError("no stock");
        return id === "msg_later" ? context.retryLater(86_400_000) : undefined;
      },
    };
    const losing: typeof inbox = {
      ...inbox,
      settle: async (settlements) => {
        const results = await inbox.settle(settlements);
        return results.map((result, index) => result && settlements[index]?.id !== "msg_lost");
      },
    };
    const options = { maxAttempts: 2, backoff: () => 0, pollMs: 5, logger };
    await createWorker(losing, handlers, options).run({ signal: stop.signal });
    const outcomes = lines.map(({ id, attempt, outcome }) => [id, attempt, outcome]);
    expect(outcomes).toContainEqual(["msg_later", 1, "waiting"]);
    expect(outcomes).toEqual(seen);
    expect(seen).toHaveLength(5);
    expect(seen).toEqual(
      expect.arrayContaining([
        ["msg_dead", 1, "retry"],
        ["msg_dead", 2, "dead"],
        ["msg_lost", 1, "lost"],
        ["msg_unhandled", 1, "unhandled"],
      ]),
    );
    const spanIds = new Set(lines.map(({ span_id }) => span_id));
    const ran = otel.spans().filter(({ name }) => name === "process esim-webhooks");
    expect(spanIds).toEqual(new Set([undefined, ...ran.map((span) => span.spanContext().spanId)]));
    expect(ran).toHaveLength(4);
  });

  it("marks the span of a handler that throws with the error's type, and never with its message", async () => {
    const otel = instrumented();
    const handlers = {
      "*": () => {
        throw new RangeError(`no SIM ${iccid}`);
      },
    };
    await createReceiver(handlers, { secret, store: memoryStore() }).receive(delivery("msg_1"));
    const { status, attributes, events } = named(otel.spans(), "process esim-webhooks");
    expect(status).toEqual({ code: SpanStatusCode.ERROR });
    expect(attributes["error.type"]).toBe("RangeError");
    expect(events).toEqual([]);
    expect(await otel.metric("esim_webhooks.settlements")).toEqual({
      "outcome=retry reason=failed type=esim.faulted": 1,
    });
    expect(await otel.everything()).not.toContain(iccid);
  });

  it("records deliveries, duplicates, refusals and their lag, with types of the catalog only", async () => {
    const otel = instrumented();
    const receiver = createReceiver({ "*": () => {} }, { secret, store: memoryStore() });
    const twice = delivery("msg_1");
    await receiver.receive(twice);
    await receiver.receive(twice);
    await receiver.receive(signedRequest({ type: "made.up", data: {} }, { secret }));
    await receiver.receive(signedRequest({ type: "esim.faulted", data: {} }, { secret: newSecret() }));
    expect(await otel.metric("esim_webhooks.deliveries")).toEqual({
      "outcome=processed type=esim.faulted": 1,
      "outcome=duplicate type=esim.faulted": 1,
      "outcome=processed type=other": 1,
      "outcome=no_matching_key type=other": 1,
    });
    expect(await otel.metric("esim_webhooks.duplicates")).toEqual({ "type=esim.faulted": 1 });
    expect(await otel.metric("esim_webhooks.delivery.lag")).toEqual({ "": 3 });
    const verified = Object.keys(await otel.metric("esim_webhooks.verify"));
    expect(verified).toEqual([
      expect.stringMatching(/^key=key:[0-9a-f]{8} outcome=verified$/),
      "key=none outcome=no_matching_key",
    ]);
    const calls = await otel.metric("esim_webhooks.store.duration"); // of all stores of this process
    expect(calls["operation=claim"]).toBeGreaterThanOrEqual(3);
    expect(calls["operation=complete"]).toBeGreaterThanOrEqual(2);
  });

  it("shows what waits in the inbox and what the worker does, and adds up to what was stored", async () => {
    const inbox = memoryInbox();
    const stop = new AbortController();
    let calls = 0;
    const handlers: Handlers<EsimEvents> = {
      "*": () => {
        calls += 1;
        if (calls === 4) stop.abort();
        if (calls % 2 === 0) throw new Error("no");
      },
    };
    const worker = createWorker(inbox, handlers, { concurrency: 3, maxAttempts: 1, pollMs: 5 });
    const otel = instrumented({ inbox, worker });
    const receiver = createReceiver(inbox, { secret });
    for (let n = 0; n < 4; n += 1) await receiver.receive(delivery(`msg_${n}`));
    expect(await otel.metric("esim_webhooks.inbox.events")).toMatchObject({
      "state=ready": 4,
      "state=dead": 0,
    });
    expect(await otel.metric("esim_webhooks.worker.slots")).toEqual({
      "state=used": 0,
      "state=free": 3,
    });
    expect(await otel.metric("esim_webhooks.worker.abandoned")).toEqual({ "": 0 });
    await worker.run({ signal: stop.signal });
    expect(await otel.metric("esim_webhooks.inbox.events")).toMatchObject({
      "state=ready": 0,
      "state=dead": 2,
    });
    expect(await otel.metric("esim_webhooks.settlements")).toEqual({
      "outcome=done type=esim.faulted": 2,
      "outcome=dead reason=failed type=esim.faulted": 2,
    });
    expect(await otel.metric("esim_webhooks.event.age")).toEqual({ "": 2 });
    expect(await otel.metric("esim_webhooks.inbox.wait")).toEqual({ "": 4 });
    expect(Object.keys(await otel.metric("esim_webhooks.last_delivery.time"))).toEqual([""]);
    expect(await otel.everything()).not.toContain(iccid);
  });

  it("gives a worker that has never taken anything the time since it is measured, so that it can be too long ago", async () => {
    const worker = createWorker(memoryInbox(), { "*": () => {} });
    const otel = instrumented({ worker });
    const before = await otel.metric("esim_webhooks.worker.last_take.time");
    expect(before).toEqual({ "": expect.closeTo(Date.now() / 1000, -2) });
    expect(await otel.metric("esim_webhooks.worker.last_take.time")).toEqual(before);
  });

  it("knows without an inbox when this process has received its last delivery; forged and old ones do not count", async () => {
    const otel = instrumented();
    const receiver = createReceiver({ "*": () => {} }, { secret, store: memoryStore() });
    const event = { type: "esim.faulted", data: sampleData("esim.faulted") };
    await receiver.receive(signedRequest(event, { secret: newSecret() }));
    await receiver.receive(signedRequest(event, { secret, at: new Date(Date.now() - 3_600_000) }));
    expect(await otel.metric("esim_webhooks.last_delivery.time")).toEqual({});
    await receiver.receive(delivery("msg_1"));
    expect(await otel.metric("esim_webhooks.last_delivery.time")).toEqual({
      "": expect.closeTo(Date.now() / 1000, -2),
    });
  });

  it("makes no more spans and metrics once it is stopped, and leaves the receiver as it was", async () => {
    const spans = new InMemorySpanExporter();
    const tracerProvider = new TracerProvider({
      spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
    });
    const stop = instrument({ tracerProvider });
    stop();
    const processor = createProcessor({ "*": () => {} }, { store: memoryStore() });
    await processor.process({
      id: "a",
      type: "esim.faulted",
      timestamp: "2026-01-01T00:00:00Z",
      data: sampleData("esim.faulted"),
    });
    expect(spans.getFinishedSpans()).toEqual([]);
  });

  it("leaves no span current after a handler", async () => {
    instrumented();
    await createReceiver({ "*": () => {} }, { secret, store: memoryStore() }).receive(delivery("msg_1"));
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it("counts an abandoned handler apart: it holds no slot, but with as many as slots none is free", async () => {
    const slots = { concurrency: 2, running: 1, abandoned: 1 };
    const otel = instrumented({ worker: { slots: () => ({ ...slots }), sinceLastTakeMs: () => null } });
    expect(await otel.metric("esim_webhooks.worker.slots")).toEqual({ "state=used": 1, "state=free": 1 });
    expect(await otel.metric("esim_webhooks.worker.abandoned")).toEqual({ "": 1 });
    Object.assign(slots, { running: 0, abandoned: 2 });
    expect(await otel.metric("esim_webhooks.worker.slots")).toEqual({ "state=used": 0, "state=free": 0 });
    expect(await otel.metric("esim_webhooks.worker.abandoned")).toEqual({ "": 2 });
  });

  it("refuses to record everything twice, and can be called again once it was stopped", () => {
    const stop = instrument();
    expect(() => instrument()).toThrowError(
      expect.objectContaining({ code: "invalid_option", remedy: expect.stringContaining("once") }),
    );
    stop();
    const stopSecond = instrument();
    stop(); // changes nothing for the second one
    expect(() => instrument()).toThrow("instrumented already");
    stopSecond();
  });

  it("records the end of a handler whose error throws when it is read", async () => {
    const otel = instrumented();
    const handlers = {
      "*": () => {
        throw Object.defineProperty(new Error("no"), "code", {
          get() {
            throw new Error("a getter");
          },
        });
      },
    };
    await createReceiver(handlers, { secret, store: memoryStore() }).receive(delivery("msg_1"));
    expect(named(otel.spans(), "process esim-webhooks").attributes).toMatchObject({
      "error.type": "_OTHER",
      "esim_webhooks.outcome": "failed",
    });
    const durations = Object.keys(await otel.metric("messaging.process.duration"));
    expect(durations).toEqual([expect.stringContaining("error.type=_OTHER")]);
  });

  it.each([
    ["23505", "23505"], // SQLSTATE
    ["ECONNRESET", "ECONNRESET"],
    ["no SIM 1", "TypeError"],
  ])(
    "uses the code %s of an error as its type if it is a plain word, or else its name",
    async (code, type) => {
      const otel = instrumented();
      const handlers = {
        "*": () => {
          throw Object.assign(new TypeError("no"), { code });
        },
      };
      await createReceiver(handlers, { secret, store: memoryStore() }).receive(delivery("msg_1"));
      expect(named(otel.spans(), "process esim-webhooks").attributes["error.type"]).toBe(type);
    },
  );

  it("labels metrics with at most 10 types of errors, and spans with 50", async () => {
    const otel = instrumented();
    let n = 0;
    const handlers = {
      "*": () => {
        n += 1;
        throw Object.assign(new Error("no"), { code: `E_${n}` });
      },
    };
    const receiver = createReceiver(handlers, { secret, store: memoryStore() });
    for (let id = 0; id < 60; id += 1) await receiver.receive(delivery(`msg_${id}`));
    const types = otel.spans().map(({ attributes }) => attributes["error.type"]);
    expect(new Set(types).size).toBe(51);
    const durations = Object.keys(await otel.metric("messaging.process.duration"));
    expect(durations).toHaveLength(11);
  });

  it("counts a delivery of an id that is being worked with another body as a conflict", async () => {
    const otel = instrumented();
    const busy = { status: "busy", retryAfterMs: 1000, conflict: true } as const;
    const store = { ...memoryStore(), claim: async () => busy };
    await createReceiver({ "*": () => {} }, { secret, store }).receive(delivery("msg_1"));
    expect(await otel.metric("esim_webhooks.conflicts")).toEqual({ "type=esim.faulted": 1 });
  });

  it("cuts the type of an event in spans, and leaves out an empty one", async () => {
    const otel = instrumented();
    const inbox = memoryInbox();
    const receiver = createReceiver(inbox, { secret });
    const type = "x".repeat(250);
    await receiver.receive(signedRequest({ id: "long", type, data: {} }, { secret }));
    await receiver.receive(signedRequest({ id: "none", body: "no envelope" } as never, { secret }));
    const types = otel.spans().map(({ attributes }) => attributes["esim_webhooks.event.type"]);
    expect(types).toEqual(["x".repeat(200), undefined]);
  });

  it("names the type of the operation, as the conventions require", async () => {
    const otel = instrumented();
    await createReceiver(memoryInbox(), { secret }).receive(delivery("msg_1"));
    expect(Object.keys(await otel.metric("messaging.client.operation.duration"))).toEqual([
      expect.stringContaining("messaging.operation.name=send messaging.operation.type=send"),
    ]);
  });

  it("counts each finding of drift once, by its kind", async () => {
    const otel = instrumented();
    const drift = watchDrift(memoryState());
    const receiver = createReceiver(memoryInbox(), { secret, drift });
    for (const reason of ["sim_locked", "sim_locked", "sim_stolen"]) {
      const data = { ...sampleData("esim.faulted"), reason };
      const { headers, body } = signedRequest({ type: "esim.faulted", data }, { secret });
      await receiver.receive({ method: "POST", headers, body });
    }
    await receiver.close();
    expect(await otel.metric("esim_webhooks.drift")).toEqual({ "kind=new_value": 2 });
  });

  it("counts no dry run of reconcile, and marks its span", async () => {
    const otel = instrumented();
    const pass = {
      source: "default",
      outcome: "complete",
      durationMs: 5,
      ledger: {},
      recovered: { acknowledgedAndLost: 2 },
    };
    const reconciled = channel("esim-webhooks:reconcile");
    reconciled.publish({ ...pass, run: "dry", dryRun: true });
    expect(await otel.metric("esim_webhooks.reconcile.recovered")).toEqual({});
    expect(await otel.metric("esim_webhooks.reconcile.last_pass.time")).toEqual({});
    reconciled.publish({ ...pass, run: "real", dryRun: false });
    expect(await otel.metric("esim_webhooks.reconcile.recovered")).toEqual({ "kind=acknowledgedAndLost": 2 });
    const marks = otel.spans().map(({ attributes }) => attributes["esim_webhooks.dry_run"]);
    expect(marks).toEqual([true, false]);
  });

  it("shows the skew of the clock, keys that sign after their end, and since when types are paused", async () => {
    const inbox = memoryInbox();
    const otel = instrumented({ inbox });
    const ended = { secret: newSecret(), notAfter: new Date(Date.now() - 60_000) };
    const clock = { now: () => 1_000_000_000 };
    const receiver = createReceiver(inbox, { secret: [secret, ended], clock });
    const event = { type: "esim.faulted", data: sampleData("esim.faulted") };
    await receiver.receive(signedRequest(event, { secret, at: new Date(999_880_000) }));
    expect(await otel.metric("esim_webhooks.clock.skew")).toEqual({ "": -120 });

    await createReceiver(inbox, { secret: [secret, ended] }).receive(
      signedRequest(event, { secret: ended.secret }),
    );
    const signatures = await otel.metric("esim_webhooks.verify");
    expect(Object.keys(signatures)).toContainEqual(expect.stringMatching(/^key=key:\S+ outcome=ended_key$/));

    await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down" });
    await inbox.pause({ reason: "maintenance" });
    const since = new Map((await inbox.paused()).map((each) => [each.type, each.since.getTime() / 1000]));
    expect(await otel.metric("esim_webhooks.inbox.paused.time")).toEqual({
      "type=all": since.get(null),
      "type=esim.faulted": since.get("esim.faulted"),
    });
  });

  it("shows the last pass that completed by the notes of the inbox, also if this process has seen none", async () => {
    const inbox = memoryInbox();
    const otel = instrumented({ inbox });
    const note = (run: string, second: number, outcome = "complete") => {
      const endedAt = new Date(second * 1000);
      const note = { run, source: "eu", startedAt: endedAt, endedAt, outcome, ledger: {} };
      return inbox.noteRun({ kind: "reconcile", ...note });
    };
    await note("run_1", 1_000_000);
    await note("run_2", 2_000_000);
    await note("run_3", 3_000_000, "failed");
    expect(await otel.metric("esim_webhooks.reconcile.last_pass.time")).toEqual({ "source=eu": 2_000_000 });
  });

  it("shows when the service last got a 401, by the passes of this process and the notes of the inbox", async () => {
    const inbox = memoryInbox();
    const otel = instrumented({ inbox });
    const refusals = () => otel.metric("esim_webhooks.reconcile.last_refused.time");
    const pass = { run: "run_1", source: "eu", outcome: "complete", ledger: {} };
    const at = new Date(1_000_000_000);
    await inbox.noteRun({ ...pass, kind: "reconcile", startedAt: at, endedAt: at });
    expect(await refusals()).toEqual({});
    await inbox.noteRun({ ...pass, kind: "reconcile", startedAt: at, endedAt: at, refusedAt: at });
    expect(await refusals()).toEqual({ "source=eu": 1_000_000 });
    const message = { ...pass, run: "run_2", durationMs: 5, refusedAt: "2026-11-20T10:00:00.000Z" };
    channel("esim-webhooks:reconcile").publish({ ...message, dryRun: true });
    expect(await refusals()).toEqual({ "source=eu": 1_000_000 });
    channel("esim-webhooks:reconcile").publish({ ...message, dryRun: false });
    expect(await refusals()).toEqual({ "source=eu": Date.parse(message.refusedAt) / 1000 });
  });

  it("links the span of a handler behind a queue to the trace that the event was stored with", async () => {
    const otel = instrumented();
    const processor = createProcessor({ "*": () => {} }, { store: memoryStore() });
    const [traceId, spanId] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
    const event = {
      id: "a",
      type: "esim.faulted",
      timestamp: "2026-01-01T00:00:00Z",
      data: sampleData("esim.faulted"),
    };
    // a retry on BullMQ: it is not known how long it was due
    const provenance = { attempt: 2, trace: `00-${traceId}-${spanId}-01` };
    await otel.inServerSpan(() => processor.process(event, provenance));
    const { parentSpanContext, links } = named(otel.spans(), "process esim-webhooks");
    expect(parentSpanContext).toBeUndefined();
    expect(links.map(({ context }) => context)).toMatchObject([{ traceId, spanId }]);
  });
});
