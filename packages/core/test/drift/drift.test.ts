import {
  createReceiver,
  createWorker,
  defineCatalog,
  type EsimEvents,
  esimCatalog,
  type StateStore,
} from "@esim-webhooks/core";
import {
  acknowledgeDrift,
  type DriftMessage,
  driftText,
  readDrift,
  watchDrift,
} from "@esim-webhooks/core/drift";
import { observe } from "@esim-webhooks/core/observe";
import { memoryInbox, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { entry } from "../../../../test/inbox-entry.ts";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { memoryState } from "../../../endpoint/test/reconcile/memory-state.ts";

expectWarnings("invalid", "handler_failed", "no_matching_key");

const secret = newSecret();
const faulted = sampleData("esim.faulted");

/** A receiver that watches drift in `state`, and the lines of its log. */
function watched(state: StateStore = memoryState(), catalog: typeof esimCatalog = esimCatalog) {
  const lines: Record<string, unknown>[] = [];
  const logger = loggerTo((fields, message, level) => lines.push({ level, message, ...fields }));
  const drift = watchDrift(state, { logger });
  const receiver = createReceiver<EsimEvents>({ "*": () => {} }, { secret, catalog, drift });
  const send = async (type: string, data: object, times = 1) => {
    for (let time = 0; time < times; time += 1) {
      const { headers, body } = signedRequest({ type, data } as never, { secret });
      await receiver.receive({ method: "POST", headers, body });
    }
    await drift.flush();
  };
  const texts = async (types: readonly string[] = catalog.types) =>
    (await readDrift(state, { types })).flatMap(({ type, findings }) =>
      findings.map((finding) => driftText(type, finding)),
    );
  return { state, lines, drift, receiver, send, texts };
}

describe("what is found with the first event", () => {
  it("finds nothing in events as the API documents them", async () => {
    const { send, texts, lines } = watched();
    for (const type of esimCatalog.types) await send(type, sampleData(type));
    await send("esim.faulted", { ...faulted, iccid: null, detail: { code: 4 } });
    await send("esim.mccswitch", { ...sampleData("esim.mccswitch"), newMnc: 8 });
    await send("esim.balance.updated", {
      ...sampleData("esim.balance.updated"),
      reason: "a reason of today",
    });
    expect(await texts()).toEqual([]);
    expect(lines).toEqual([]);
  });

  const changes: [string, string, object, string][] = [
    [
      "a new field",
      "esim.faulted",
      { ...faulted, channel: "app" },
      "esim.faulted has a new field: channel (string)",
    ],
    [
      "a required field that is missing",
      "esim.faulted",
      { ...faulted, reason: undefined },
      "esim.faulted no longer always has reason",
    ],
    [
      "a field of another JSON type",
      "esim.balance.updated",
      { ...sampleData("esim.balance.updated"), amount: "15.00" },
      "amount of esim.balance.updated has another JSON type: string",
    ],
    [
      "a value that an enumeration does not have",
      "esim.faulted",
      { ...faulted, reason: "sim_locked" },
      "reason of esim.faulted has a value that is not documented: sim_locked",
    ],
    [
      "a new type",
      "package.activated",
      { packageReference: "P1" },
      "the catalog does not have package.activated",
    ],
  ];
  it.each(changes)("finds %s, and logs it once", async (_, type, data, text) => {
    const { send, texts, lines } = watched();
    await send(type, data);
    await send(type, data);
    expect(await texts()).toEqual([text]);
    expect(lines).toMatchObject([{ level: "warn", type, message: expect.stringContaining("--acknowledge") }]);
  });

  it("publishes each finding once for observers", async () => {
    const messages: DriftMessage[] = [];
    onTestFinished(observe({ drift: (message) => messages.push(message) }));
    const { send } = watched();
    await send("esim.faulted", { ...faulted, reason: "sim_locked", channel: 1 }, 3);
    expect(messages).toMatchObject([
      { type: "esim.faulted", kind: "new_field", field: "channel", jsonType: "number" },
      { type: "esim.faulted", kind: "new_value", field: "reason", value: "sim_locked" },
    ]);
  });
});

describe("what is learned", () => {
  const catalog = defineCatalog({ "package.activated": z.object({}) }) as never;
  const types = ["package.activated"];

  it("takes the first hundred events of an undocumented type as they are, and finds what differs from then on", async () => {
    const { send, texts } = watched(memoryState(), catalog);
    await send("package.activated", { plan: "a", days: 3 }, 60);
    await send("package.activated", { plan: "a", days: 3, note: null }, 60);
    expect(await texts(types)).toEqual([]);
    await send("package.activated", { plan: "a", days: "3", isTrial: true });
    await send("package.activated", { days: 3 });
    expect(await texts(types)).toEqual([
      "days of package.activated has another JSON type: string",
      "package.activated has a new field: isTrial (boolean)",
      "package.activated no longer always has plan",
    ]);
  });

  it("sees the data as it was sent, whatever the schema makes of it", async () => {
    const own = defineCatalog({ "package.activated": z.object({ days: z.coerce.string() }) }) as never;
    const { send, state } = watched(memoryState(), own);
    await send("package.activated", { days: 3, plan: "a" });
    expect(await readDrift(state, { types })).toMatchObject([
      {
        type: "package.activated",
        seen: 1,
        fields: [
          { name: "days", types: ["number"], always: true },
          { name: "plan", types: ["string"], always: true },
        ],
      },
    ]);
  });

  it("finds a documented optional field that was in each of the first hundred events and is missing now", async () => {
    const { send, texts } = watched();
    await send("esim.enabled", sampleData("esim.enabled"), 100);
    const { iccid: _, ...rest } = sampleData("esim.enabled");
    await send("esim.enabled", rest);
    expect(await texts()).toEqual(["esim.enabled no longer always has iccid"]);
  });
});

describe("several processes", () => {
  it("merges what they see, and logs a finding once", async () => {
    const state = memoryState();
    const [one, two] = [watched(state), watched(state)];
    const changed = { ...faulted, channel: "app" };
    await Promise.all([one.send("esim.faulted", changed, 3), two.send("esim.faulted", changed, 4)]);
    expect([...one.lines, ...two.lines]).toHaveLength(1);
    expect(await readDrift(state, esimCatalog)).toMatchObject([{ type: "esim.faulted", seen: 7 }]);
  });

  it("does not find again what was acknowledged, also after a restart", async () => {
    const state = memoryState();
    const changed = { ...faulted, channel: "app" };
    await watched(state).send("esim.faulted", changed);
    expect(await acknowledgeDrift(state)).toBe(1);
    const { send, texts, lines } = watched(state);
    await send("esim.faulted", changed);
    expect(await texts()).toEqual([]);
    expect(lines).toEqual([]);
    await send("esim.faulted", { ...changed, more: 1 });
    expect(await texts()).toEqual(["esim.faulted has a new field: more (number)"]);
  });

  it("ends the finding of a new type once the catalog has the type", async () => {
    const { send, texts } = watched();
    await send("package.activated", {});
    expect(await texts([])).toHaveLength(1);
    expect(await texts(["package.activated"])).toEqual([]);
  });

  it("writes again what the state store has lost", async () => {
    const stored = memoryState();
    let held: StateStore = stored;
    const state: StateStore = {
      ...stored,
      read: (name) => held.read(name),
      write: (...all) => held.write(...all),
    };
    const { send } = watched(state);
    await send("esim.faulted", faulted);
    held = memoryState();
    await send("esim.faulted", faulted); // the row is missing
    await send("esim.faulted", faulted);
    expect((await readDrift(held, esimCatalog))[0]?.fields).toHaveLength(6);
  });
});

describe("a delivery", () => {
  it("is answered while the state store hangs or fails, and the finding is written when it answers again", async () => {
    const stored = memoryState();
    let isDown = true;
    const state: StateStore = {
      ...stored,
      read: async (name) => {
        if (isDown) throw new Error("down");
        return stored.read(name);
      },
    };
    const { send, texts, lines, drift } = watched(state);
    await send("esim.faulted", { ...faulted, channel: 1 });
    expect(lines).toMatchObject([{ level: "warn", message: expect.stringContaining("could not be stored") }]);
    isDown = false;
    await drift.flush();
    expect(await texts()).toEqual(["esim.faulted has a new field: channel (number)"]);
  });

  it("that is forged is not looked at", async () => {
    const see = vi.fn();
    const receiver = createReceiver({ "*": () => {} }, { secret, drift: { see, flush: async () => {} } });
    const { headers, body } = signedRequest({ type: "esim.faulted", data: faulted }, { secret: newSecret() });
    expect((await receiver.receive({ method: "POST", headers, body })).status).toBe(401);
    expect(see).not.toHaveBeenCalled();
  });

  it("of a known shape makes no write: counts wait", async () => {
    const state = memoryState();
    const write = vi.spyOn(state, "write");
    const { send, receiver } = watched(state);
    await send("esim.faulted", faulted);
    write.mockClear();
    for (let count = 0; count < 50; count += 1) {
      const { headers, body } = signedRequest({ type: "esim.faulted", data: faulted }, { secret });
      await receiver.receive({ method: "POST", headers, body });
    }
    expect(write).not.toHaveBeenCalled();
    await receiver.close(); // which writes them
    expect(await readDrift(state, esimCatalog)).toMatchObject([{ seen: 51 }]);
  });
});

it("a worker looks at events at their first attempt, and at no import", async () => {
  const state = memoryState();
  const inbox = memoryInbox();
  const imported = entry("imported", { data: { other: 1 } });
  await inbox.put([
    entry("live", { data: { channel: 1 } }),
    { ...imported, replay: { run: "import-1" } as never },
  ]);
  const stop = new AbortController();
  let attempts = 0;
  const handler = () => {
    attempts += 1;
    if (attempts === 1) throw new Error("once");
    if (attempts === 3) stop.abort();
  };
  const worker = createWorker(
    inbox,
    { "*": handler },
    { drift: watchDrift(state), backoff: () => 1, pollMs: 5 },
  );
  await worker.run({ signal: stop.signal });
  const [seen] = await readDrift(state, esimCatalog);
  expect(seen).toMatchObject({ seen: 1, findings: [{ kind: "new_field", field: "channel" }] });
});

describe("personal data", () => {
  const iccid = "8932042000010012344";
  const planted = {
    ...faulted,
    [iccid]: { name: "Ada Lovelace" },
    "ada@example.com": true,
    "Ada Lovelace": 1,
    [`x${"y".repeat(40)}`]: "a long name",
    reason: "Ada Lovelace has no device",
    channel: "ada@example.com",
  };

  it("is not in the state, the log or a message: names and values that may be data are folded", async () => {
    const messages: DriftMessage[] = [];
    onTestFinished(observe({ drift: (message) => messages.push(message) }));
    const values = new Map<string, unknown>();
    const stored = memoryState();
    const state: StateStore = {
      ...stored,
      write: async (name, value, version) => {
        values.set(name, value);
        return stored.write(name, value, version);
      },
    };
    const { send, lines, texts } = watched(state);
    await send("esim.faulted", planted);
    await send("esim.faulted", { ...planted, reason: iccid });
    await send(`call ${iccid}`, planted);
    const kept = JSON.stringify([...values, lines, messages, await texts()]);
    expect(kept).not.toMatch(/Ada|ada@|8932042|yyyy|7301552|4812009|8904903/);
    expect(await texts()).toEqual([
      "esim.faulted has a new field: * (string)",
      "esim.faulted has a new field: channel (string)",
      "reason of esim.faulted has a value that is not documented: *",
      "the catalog does not have *",
    ]);
  });

  it("in names without digits takes at most 64 names, and a state of some kilobytes", async () => {
    const { send, state } = watched();
    const letters = (n: number) => [...String(n)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    for (let n = 0; n < 300; n += 1) await send("package.usage", { [`name_${letters(n)}`]: n });
    const [seen] = await readDrift(state, { types: [] });
    expect(seen?.seen).toBe(300);
    expect(seen?.fields.length).toBeLessThanOrEqual(64);
    expect(JSON.stringify((await state.read("drift.package.usage"))?.value).length).toBeLessThan(16_000);
  });

  it("as event types takes at most 64 states", async () => {
    const { send, state } = watched();
    const letters = (n: number) => [...String(n)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    for (let n = 0; n < 200; n += 1) await send(`type_${letters(n)}`, {});
    const seen = await readDrift(state, { types: [] });
    expect(seen).toHaveLength(64);
    expect(seen.reduce((sum, { seen }) => sum + seen, 0)).toBe(200);
  });
});
