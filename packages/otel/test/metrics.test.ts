import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createReceiver,
  createWorker,
  type EsimEvents,
  esimCatalog,
  type Handlers,
  memoryStore,
} from "@esim-webhooks/core";

import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { metricsHandler } from "@esim-webhooks/otel/prometheus";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { root } from "../../../test/run.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { publishEveryMessage } from "./every-message.ts";
import { instrumented } from "./set-up.ts";

expectWarnings("event_dead", "handler_failed", "no_matching_key");

const secret = newSecret();

/** The sum of the values whose attributes contain all of these words. */
function sum(metric: Readonly<Record<string, number>>, ...words: readonly string[]): number {
  return Object.entries(metric)
    .filter(([attributes]) => words.every((word) => ` ${attributes} `.includes(` ${word} `)))
    .reduce((total, [, value]) => total + value, 0);
}

const seriesOf = (text: string) => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

describe("after a storm of redeliveries, forged deliveries, conflicts, failures, retries and dead events", () => {
  it("the metrics add up to the ledger of the inbox, to the answers and to the calls of handlers, exactly", async () => {
    const inbox = sqliteInbox({ path: join(tmpdir(), `otel-${process.pid}-${Date.now()}.db`) });
    onTestFinished(() => inbox.close());
    const otel = instrumented({ inbox });
    const receiver = createReceiver(inbox, { secret });
    const answers = new Map<string, number>();
    const receive = async (request: ReturnType<typeof signedRequest>, by = receiver) => {
      const { outcome } = await by.receive(request);
      answers.set(outcome.code, (answers.get(outcome.code) ?? 0) + 1);
    };
    const fate = ["done", "fails once", "always fails", "waits once", "discarded", "unhandled"];
    const kindOf = (id: string) => fate[Number(id.split("_")[1]) % fate.length];
    const signed = (n: number, changes: object = {}) => {
      const type = kindOf(`msg_${n}`) === "unhandled" ? "esim.deleted" : "esim.faulted";
      const data = { ...sampleData(type), ...changes };
      return signedRequest({ id: `msg_${n}`, type, timestamp: "2026-11-20T10:00:00Z", data }, { secret });
    };
    for (let n = 0; n < 60; n += 1) {
      for (let time = 0; time <= n % 3; time += 1) await receive(signed(n));
      if (n % 10 === 0) await receive(signed(n, { other: "body" }));
      if (n % 2 === 0)
        await receive(
          signedRequest({ id: `forged_${n}`, type: `made.up.${n}`, data: {} }, { secret: newSecret() }),
        );
    }
    await receive(signedRequest({ id: "msg_invalid", type: "esim.faulted", data: {} }, { secret }));

    let calls = 0;
    let failures = 0;
    const handlers: Handlers<EsimEvents> = {
      "esim.faulted": ({ id }, context) => {
        calls += 1;
        const kind = kindOf(id);
        if (kind === "always fails" || (kind === "fails once" && context.attempt === 1)) {
          failures += 1;
          throw new RangeError("no luck");
        }
        if (kind === "discarded") return context.discard("not ours");
        return kind === "waits once" && !waited.has(id) && waited.add(id) ? context.retryLater(1) : undefined;
      },
    };
    const waited = new Set<string>();
    const stop = new AbortController();
    const options = { concurrency: 5, maxAttempts: 3, backoff: () => 0, pollMs: 5 };
    const running = createWorker(inbox, handlers, options).run({ signal: stop.signal });
    await expect
      .poll(async () => (await inbox.stats()).states)
      .toMatchObject({ done: 40, dead: 11, unhandled: 10 });
    stop.abort();
    await running;

    const { states, conflicts } = await inbox.stats();
    const deliveries = await otel.metric("esim_webhooks.deliveries");
    for (const [outcome, count] of answers) expect(sum(deliveries, `outcome=${outcome}`)).toBe(count);
    const received = [...answers.values()].reduce((total, count) => total + count, 0);
    expect(sum(deliveries)).toBe(received);
    const stored = Object.values(states).reduce((total, count) => total + count, 0);
    expect(sum(deliveries, "outcome=stored")).toBe(stored);
    expect(sum(await otel.metric("esim_webhooks.conflicts"))).toBe(conflicts);
    expect(conflicts).toBe(6);
    expect(sum(await otel.metric("esim_webhooks.duplicates"))).toBe(answers.get("already_stored"));
    const forged = answers.get("no_matching_key") ?? 0;
    const verified = await otel.metric("esim_webhooks.verify");
    expect([sum(verified, "outcome=no_matching_key"), sum(verified, "outcome=verified")]).toEqual([
      30,
      received - 30,
    ]);
    expect(forged).toBe(30);
    expect(sum(await otel.metric("esim_webhooks.delivery.lag"))).toBe(received - forged - 1); // the invalid one has no event
    expect(sum(await otel.metric("messaging.client.sent.messages"))).toBe(received - forged);

    const settled = await otel.metric("esim_webhooks.settlements");
    expect(sum(settled, "outcome=done")).toBe(states.done);
    expect(sum(settled, "outcome=dead")).toBe(states.dead);
    expect(sum(settled, "outcome=dead", "reason=failed")).toBe(10);
    expect(sum(settled, "outcome=dead", "reason=invalid")).toBe(1);
    expect(sum(settled, "outcome=unhandled")).toBe(states.unhandled);
    expect(sum(settled, "outcome=retry", "reason=failed")).toBe(failures - 10);
    expect([sum(settled, "outcome=retry"), sum(settled, "outcome=waiting")]).toEqual([
      failures - 10,
      waited.size,
    ]);
    expect(sum(await otel.metric("messaging.client.consumed.messages"))).toBe(sum(settled));
    const durations = await otel.metric("messaging.process.duration");
    expect(sum(durations)).toBe(calls);
    expect(sum(durations, "error.type=RangeError")).toBe(failures);
    expect(sum(await otel.metric("esim_webhooks.inbox.wait"))).toBe(calls);
    expect(sum(await otel.metric("esim_webhooks.event.age"))).toBe(states.done);
    const waiting = await otel.metric("esim_webhooks.inbox.events");
    expect([sum(waiting, "state=ready"), sum(waiting, "state=dead")]).toEqual([0, states.dead]);
  });
});

describe("the series of the exposition", () => {
  it.each([
    ["the eSIM catalog", esimCatalog.types],
    [
      "a catalog that has many more",
      [...esimCatalog.types, ...Array.from({ length: 100 }, (_, n) => `made.up.${n}`)],
    ],
  ])(
    "are at most 2,050 after every type of %s, outcome, reason and error, and a hundred keys, sources and unknown types",
    async (_, types) => {
      const inbox = memoryInbox();
      const worker = {
        slots: () => ({ concurrency: 1, running: 1, abandoned: 0 }),
        sinceLastTakeMs: () => 1,
      };
      const metrics = await metricsHandler({ inbox, worker, catalog: { types } });
      onTestFinished(() => metrics.close());
      publishEveryMessage();
      const text = await (await metrics()).text();
      expect(seriesOf(text).length).toBeLessThanOrEqual(2050);
      expect(seriesOf(text).length).toBeGreaterThan(1500); // so the messages were seen
      expect(new Set(text.match(/type="made\.up[^"]*"/g)).size).toBe(
        types === esimCatalog.types ? 0 : 17 - esimCatalog.types.length,
      );
      expect(new Set(text.match(/key="[^"]*"/g)).size).toBe(22); // 20, other and none
      expect(new Set(text.match(/source="[^"]*"/g)).size).toBe(21);
      expect(new Set(text.match(/error_type="[^"]*"/g)).size).toBe(11);
    },
  );

  it("do not become more with what a hostile sender invents", async () => {
    const metrics = await metricsHandler();
    onTestFinished(() => metrics.close());
    const receiver = createReceiver({ "*": () => {} }, { secret, store: memoryStore() });
    const attack = async (run: number) => {
      for (let n = 0; n < 50; n += 1) {
        const event = { id: `id_${run}_${n}`, type: `type.${run}.${n}`, data: {} };
        const forged = signedRequest(event, { secret: newSecret() });
        const headers = { ...forged.headers, [`x-${run}-${n}`]: "1", traceparent: `00-${n}` };
        await receiver.receive({ ...forged, headers });
        await receiver.receive({ ...forged, headers: { "webhook-id": `${run} ${n}` } });
        await receiver.receive(signedRequest(event, { secret })); // a type that no catalog has, even if it is authentic
      }
      return seriesOf(await (await metrics()).text()).map((line) => line.replace(/ [^ ]+$/, ""));
    };
    const first = await attack(1);
    expect(await attack(2)).toEqual(first);
    expect(first.length).toBeGreaterThan(10);
  });
});

it("are listed in docs/observing.md with name, kind, unit and labels, as they are really created", async () => {
  const inbox = memoryInbox();
  await createReceiver(inbox, { secret }).receive(signedDelivery(secret));
  const worker = { slots: () => ({ concurrency: 1, running: 1, abandoned: 0 }), sinceLastTakeMs: () => 1 };
  const otel = instrumented({ inbox, worker });
  await inbox.pause({ types: ["esim.faulted"], reason: "the CRM is down" });
  publishEveryMessage();
  const page = readFileSync(join(root, "docs/observing.md"), "utf8");
  const rows = page.matchAll(/^\| `((?:messaging|esim_webhooks)\.[\w.]+)` \| (\w+), (\S+) \|(.*?)\|/gm);
  const messaging = ["messaging.destination.name", "messaging.operation.name", "messaging.system"];
  const listed = Array.from(rows, ([, name = "", kind = "", unit = "", labels = ""]) => ({
    name,
    kind,
    unit: unit === "—" ? "" : unit.replaceAll("`", ""),
    labels: [
      ...(name.startsWith("messaging.") ? messaging : []),
      ...Array.from(labels.matchAll(/`([\w.]+)`/g), ([, label = ""]) => label),
    ].sort(),
  }));
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
  expect(listed.sort(byName)).toEqual((await otel.instruments()).sort(byName));
});
