import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createReceiver, memoryStore, type Receiver, WebhookError } from "@esim-webhooks/core";
import { findTroubles, troubleTable, watchTroubles } from "@esim-webhooks/core/health";
import { newSecret } from "@esim-webhooks/core/testing";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { entry, key } from "./inbox-entry.ts";
import { root } from "./run.ts";
import { loggerTo } from "./support/loggers.ts";
import { signedDelivery } from "./support/signed-delivery.ts";
import { expectWarnings } from "./support/warnings.ts";

expectWarnings("failed", "no_matching_key");

const minuteMs = 60_000;
const dayMs = 86_400_000;
const secret = newSecret();

function openInbox() {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-troubles-"));
  const path = join(folder, "events.db");
  const inbox = sqliteInbox({ path });
  onTestFinished(async () => {
    await inbox.close();
    rmSync(folder, { recursive: true, force: true });
  });
  /** Makes all due events due earlier. */
  function age(ms: number): void {
    const database = new DatabaseSync(path);
    database.prepare("update esim_webhooks_event set due_at = due_at - ? where state = 'ready'").run(ms);
    database.close();
  }
  return { inbox, age };
}

type Options = Pick<NonNullable<Parameters<typeof watchTroubles>[0]>, "inbox" | "toleranceSeconds">;

/** A watch whose clock is moved by the test, and the lines that it logs. */
function watched(options: Options) {
  let nowMs = Date.now();
  const lines: { level: string; code: unknown; subject?: unknown; text: string }[] = [];
  const logger = loggerTo((fields, text, level) =>
    lines.push({ level, ...(fields as { code: string }), text }),
  );
  const watch = watchTroubles({ ...options, logger, clock: { now: () => nowMs } });
  onTestFinished(() => watch.close());
  return {
    lines,
    /** Moves the clock, looks, and returns the codes of the troubles. */
    async later(ms: number) {
      nowMs += ms;
      return (await watch.check()).map(({ code, subject }) => (subject ? `${code} ${subject}` : code));
    },
    logged: () => lines.splice(0).map(({ level, code, subject }) => [level, code, subject]),
  };
}

const faulted = (signedWith = secret, at = new Date()) => signedDelivery(signedWith, {}, { at });

async function receive(receiver: Receiver, times: number, request = faulted) {
  for (let sent = 0; sent < times; sent += 1) await receiver.receive(request());
}

describe("watchTroubles", () => {
  it("logs that no delivery has arrived for a day, and that one has arrived, but nothing of a new inbox", async () => {
    const { inbox } = openInbox();
    const { later, logged } = watched({ inbox });
    expect(await later(3 * dayMs)).toEqual([]);
    await inbox.put([entry("msg_1")]);
    expect(await later(-3 * dayMs + dayMs - minuteMs)).toEqual([]);
    expect(await later(2 * minuteMs)).toEqual(["no_delivery"]);
    expect(await later(minuteMs)).toEqual(["no_delivery"]);
    expect(logged()).toEqual([["warn", "no_delivery", undefined]]);
    expect(await later(-dayMs)).toEqual([]);
    expect(logged()).toEqual([["info", "no_delivery", undefined]]);
  });

  it("knows without an inbox when this process has received its last delivery, by those with a right signature", async () => {
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const { later } = watched({});
    expect(await later(2 * dayMs)).toEqual([]);
    await receive(receiver, 1);
    expect(await later(dayMs + minuteMs)).toEqual(["no_delivery"]);
    await receive(receiver, 3, () => faulted(newSecret()));
    expect(await later(0)).toEqual(["no_delivery", "deliveries_refused"]);
    await receive(receiver, 100);
    expect(await later(0)).toEqual([]);
  });

  it("logs that more than 5 % of the deliveries of ten minutes were answered 401, until ten minutes have fewer", async () => {
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const { later, logged, lines } = watched({});
    await receive(receiver, 57);
    await receive(receiver, 3, () => faulted(newSecret()));
    expect(await later(0)).toEqual([]); // exactly 5 %
    await receive(receiver, 1, () => faulted(newSecret()));
    expect(await later(minuteMs)).toEqual(["deliveries_refused"]);
    expect(lines[0]?.text).toMatch(
      /^Of the 61 deliveries of the last ten minutes, 4 were answered 401\. Give /,
    );
    expect(await later(8 * minuteMs)).toEqual(["deliveries_refused"]);
    expect(await later(minuteMs)).toEqual([]);
    expect(logged().map(([level]) => level)).toEqual(["warn", "info"]);
  });

  it("logs that more than 5 % of the deliveries of ten minutes were answered 5xx, with their outcomes, however many forged ones arrive", async () => {
    let isBroken = false;
    const fails = createReceiver({ "*": () => isBroken && Promise.reject(new Error("no luck")) }, { secret });
    const asks = createReceiver({ "*": (_, context) => context.retryLater(1000) }, { secret });
    const store = { ...memoryStore(), claim: () => Promise.reject(new Error("down")) };
    const storeless = createReceiver({ "*": () => {} }, { secret, store });
    const { later: look, logged, lines } = watched({});
    await receive(fails, 37);
    await receive(asks, 20);
    await receive(fails, 500, () => faulted(newSecret()));
    isBroken = true;
    await receive(fails, 3);
    expect(await look(0)).not.toContain("deliveries_failed"); // exactly 5 %
    await receive(storeless, 1);
    expect(await look(minuteMs)).toContain("deliveries_failed");
    expect(lines.find(({ code }) => code === "deliveries_failed")?.text).toMatch(
      /^Of the 61 deliveries of the last ten minutes that were not answered 4xx, 4 were answered 5xx: failed, store_unavailable\. Fix /,
    );
    expect(await look(8 * minuteMs)).toContain("deliveries_failed");
    expect(await look(minuteMs)).toEqual([]);
    expect(logged().filter(([, code]) => code === "deliveries_failed")).toEqual([
      ["warn", "deliveries_failed", undefined],
      ["info", "deliveries_failed", undefined],
    ]);
  });

  it("logs nothing of two failed attempts in a quiet hour, or of answers that ask for an event again", async () => {
    const { later } = watched({});
    const throwing = createReceiver({ "*": () => Promise.reject(new Error("no luck")) }, { secret });
    await receive(throwing, 2);
    await receive(createReceiver({ "*": (_, context) => context.retryLater(1000) }, { secret }), 100);
    const closed = createReceiver({ "*": () => {} }, { secret });
    await closed.close();
    await receive(closed, 100);
    expect(await later(0)).toEqual([]);
    await receive(throwing, 20);
    expect(await later(0)).toEqual(["deliveries_failed"]);
  });

  it("logs nothing of one or two wrong deliveries in a quiet hour", async () => {
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const { later } = watched({});
    await receive(receiver, 2, () => faulted(newSecret()));
    expect(await later(0)).toEqual([]);
    await receive(receiver, 1, () => faulted(newSecret()));
    expect(await later(0)).toEqual(["deliveries_refused"]);
  });

  it("logs that a key still signs after its end, and that an hour has passed without that", async () => {
    const ended = { secret: newSecret(), notAfter: new Date(Date.now() - minuteMs) };
    const receiver = createReceiver({ "*": () => {} }, { secret: [secret, ended] });
    const { later, logged } = watched({});
    await receive(receiver, 100);
    await receive(receiver, 1, () => faulted(ended.secret));
    expect(await later(0)).toEqual([expect.stringMatching(/^ended_key_used key:[0-9a-f]+$/)]);
    expect(await later(59 * minuteMs)).toHaveLength(1);
    expect(await later(minuteMs)).toEqual([]);
    expect(logged()).toEqual([
      ["warn", "ended_key_used", expect.stringMatching(/^key:/)],
      ["info", "ended_key_used", expect.stringMatching(/^key:/)],
    ]);
  });

  it("logs a clock that is off by more than half of the tolerance in its direction, and that it is right again", async () => {
    const receiver = createReceiver({ "*": () => {} }, { secret });
    const { later, logged, lines } = watched({ toleranceSeconds: { past: 300, future: 20 } });
    const sentAt = (seconds: number) => () => faulted(secret, new Date(Date.now() + seconds * 1000));
    await receive(receiver, 1, sentAt(-140));
    expect(await later(minuteMs)).toEqual([]);
    await receive(receiver, 1, sentAt(15));
    expect(await later(minuteMs)).toEqual(["clock_skew"]);
    expect(lines[0]?.text).toMatch(
      /^This machine's clock is 1\d s behind the service's\. .*above 20 s\. Set /,
    );
    expect(await later(minuteMs)).toEqual(["clock_skew"]); // no delivery shows that it is right
    await receive(receiver, 1, sentAt(15));
    await receive(receiver, 1, sentAt(0));
    expect(await later(minuteMs)).toEqual([]); // one delivery alone was late
    expect(logged().map(([level]) => level)).toEqual(["warn", "info"]);
  });

  it("logs a backlog that has grown for ten minutes, and that it no longer grows", async () => {
    const { inbox, age } = openInbox();
    const { later, logged } = watched({ inbox });
    await inbox.put([entry("msg_1")]);
    for (let minute = 0; minute < 10; minute += 1) {
      age(minuteMs);
      expect(await later(minuteMs)).toEqual([]);
    }
    age(minuteMs);
    expect(await later(minuteMs)).toEqual(["backlog_grows"]);
    for (let minute = 0; minute < 10; minute += 1) await later(minuteMs); // as old as it was: workers keep up
    expect(logged().filter(([, code]) => code === "backlog_grows")).toEqual([
      ["warn", "backlog_grows", undefined],
      ["info", "backlog_grows", undefined],
    ]);
  });

  it("logs that an event has waited for 15 minutes, and that none has once a worker took it", async () => {
    const { inbox, age } = openInbox();
    const { later, logged } = watched({ inbox });
    await inbox.put([entry("msg_1")]);
    age(14 * minuteMs);
    expect(await later(0)).toEqual([]);
    age(2 * minuteMs);
    expect(await later(0)).toEqual(["events_wait"]);
    await inbox.take({ limit: 1, leaseMs: minuteMs });
    expect(await later(0)).toEqual([]);
    expect(logged().map(([level, code]) => [level, code])).toEqual([
      ["warn", "events_wait"],
      ["info", "events_wait"],
    ]);
  });

  it("logs dead events once for each cause, and ends a cause once its events are redriven", async () => {
    const { inbox } = openInbox();
    const { later, logged } = watched({ inbox });
    const die = async (id: string, reason: "failed" | "timed_out") => {
      await inbox.put([entry(id)]);
      const taken = await inbox.take({ limit: 1, leaseMs: minuteMs });
      const report = { reason, durationMs: 1, error: "Error: no luck", worker: "w" };
      await inbox.settle(taken.map((one) => ({ ...one, state: "dead", error: "no luck", report })));
    };
    await die("msg_1", "failed");
    await die("msg_2", "failed");
    expect(await later(0)).toEqual(["events_dead failed"]);
    await die("msg_3", "timed_out");
    expect((await later(0)).sort()).toEqual(["events_dead failed", "events_dead timed_out"]);
    await inbox.redrive({ ids: ["msg_1", "msg_2"] });
    expect(await later(0)).toEqual(["events_dead timed_out"]);
    await inbox.purgeDead({});
    expect(await later(0)).toEqual([]);
    expect(logged()).toEqual([
      ["warn", "events_dead", "failed"],
      ["warn", "events_dead", "timed_out"],
      ["info", "events_dead", "failed"],
      ["info", "events_dead", "timed_out"],
    ]);
  });

  it("logs for each source that no pass has completed for a day, though one used to", async () => {
    const { inbox } = openInbox();
    const { later, logged } = watched({ inbox });
    const pass = async (run: string, hoursAgo: number, outcome = "complete") => {
      const endedAt = new Date(Date.now() - hoursAgo * 3_600_000);
      const note = { run, source: "eu", startedAt: endedAt, endedAt, outcome, ledger: {} };
      await inbox.noteRun({ kind: "reconcile", ...note });
    };
    expect(await later(0)).toEqual([]);
    await pass("run_1", 23);
    expect(await later(0)).toEqual([]);
    await pass("run_2", 1, "failed");
    expect(await later(2 * 3_600_000)).toEqual(["reconcile_not_run eu"]);
    await pass("run_3", 0);
    expect(await later(0)).toEqual([]);
    expect(logged()).toEqual([
      ["warn", "reconcile_not_run", "eu"],
      ["info", "reconcile_not_run", "eu"],
    ]);
  });

  it("logs each type that is paused for longer than a day, and that its pause has ended", async () => {
    const { inbox } = openInbox();
    const { later, logged } = watched({ inbox });
    await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down" });
    expect(await later(dayMs - minuteMs)).toEqual([]);
    expect(await later(2 * minuteMs)).toEqual(["type_paused esim.faulted"]);
    await inbox.pause({ reason: "all of it" });
    expect(await later(0)).toEqual(expect.arrayContaining(["type_paused all"]));
    await inbox.resume();
    expect(await later(0)).toEqual([]);
    expect(logged()).toHaveLength(4);
  });

  it("keeps what it knows while the inbox does not answer, and neither rejects nor logs", async () => {
    const { inbox } = openInbox();
    let isUp = true;
    const gauges = () =>
      isUp
        ? inbox.gauges()
        : Promise.reject(new WebhookError("store_unavailable", "It is down.", "Start it."));
    const { list, get, runs, paused } = inbox;
    const { later, logged } = watched({ inbox: { gauges, list, get, runs, paused } });
    await inbox.put([entry("msg_1")]);
    expect(await later(2 * dayMs)).toEqual(["no_delivery"]);
    isUp = false;
    expect(await later(minuteMs)).toEqual(["no_delivery"]);
    isUp = true;
    expect(await later(-2 * dayMs)).toEqual([]);
    expect(logged()).toHaveLength(2);
  });

  it("logs once that it cannot look at the inbox, if that is not for an inbox that is unreachable", async () => {
    const { inbox } = openInbox();
    const { list, get, runs, paused } = inbox;
    const gauges = () => Promise.reject(new TypeError("getTime is not a function"));
    const { later, lines } = watched({ inbox: { gauges, list, get, runs, paused } });
    await later(minuteMs);
    await later(minuteMs);
    expect(lines).toMatchObject([
      { level: "error", text: expect.stringContaining("could not be looked at") },
    ]);
  });

  it("sees what this process receives while the inbox hangs", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const never = () => new Promise<never>(() => {});
    const { later } = watched({
      inbox: { gauges: never, paused: never, runs: never, list: never, get: never },
    });
    await receive(createReceiver({ "*": () => {} }, { secret }), 3, () => faulted(newSecret()));
    const looked = later(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await looked).toEqual(["deliveries_refused"]);
  });

  it("logs nothing of a payload, an error, a subject, an id or the reason of a pause", async () => {
    const { inbox, age } = openInbox();
    const { later, lines } = watched({ inbox });
    const iccid = "8944500102030405063";
    await inbox.put([entry(`msg_${iccid}`, { type: "esim.faulted", esim: iccid })]);
    const taken = await inbox.take({ limit: 1, leaseMs: minuteMs });
    const report = { reason: "failed" as const, durationMs: 1, error: `Error: ${iccid}`, worker: "w" };
    await inbox.settle(taken.map((one) => ({ ...one, state: "dead", error: iccid, report })));
    await inbox.pause({ types: ["esim.faulted"], reason: `for ${iccid}`, by: iccid });
    await inbox.put([entry("msg_2", { esim: iccid })]);
    age(20 * minuteMs);
    await receive(createReceiver(inbox, { secret }), 1, () => faulted(newSecret()));
    expect((await later(2 * dayMs)).length).toBeGreaterThan(3);
    expect(JSON.stringify(await inbox.get(key(`msg_${iccid}`)))).toContain(iccid);
    expect(lines.length).toBeGreaterThan(3);
    expect(JSON.stringify(lines)).not.toContain(iccid);
  });
});

it("findTroubles gives the same as data, without watching", async () => {
  const { inbox, age } = openInbox();
  await inbox.put([{ ...entry("msg_1"), receivedAt: new Date(Date.now() - 2 * dayMs) }]);
  age(20 * minuteMs);
  const found = await findTroubles(inbox);
  expect(found.map(({ code }) => code)).toEqual(["no_delivery", "events_wait"]);
  expect(found[0]?.remedy).toBe(troubleTable.no_delivery.remedy);
  expect((await findTroubles(inbox, { silenceMs: 3 * dayMs })).map(({ code }) => code)).toEqual([
    "events_wait",
  ]);
});

it("docs/observing.md has a row for each trouble, with its section of the runbook, which exists", () => {
  const read = (file: string) => readFileSync(join(root, file), "utf8");
  const headings = Array.from(read("docs/runbook.md").matchAll(/^#+ (.+)$/gm), ([, heading]) => heading);
  const table = Object.entries(troubleTable).map(([code, { section }]) => {
    expect(headings).toContain(section);
    return [code, `runbook.md#${section.toLowerCase().replaceAll(" ", "-")}`];
  });
  const rows = read("docs/observing.md").matchAll(/^\| \[`(\w+)`\]\((runbook\.md#[\w-]+)\) \|/gm);
  expect(Array.from(rows, ([, code, page]) => [code, page])).toEqual(table);
});
