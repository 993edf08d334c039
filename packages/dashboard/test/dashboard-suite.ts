import {
  createWorker,
  type EsimEvents,
  type Handlers,
  type InboxAdmin,
  type InboxEntry,
  type InboxQueue,
  type InboxRow,
  type InboxWriter,
  type RedriveFilter,
} from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/internal";
import { type DashboardOptions, inboxDashboard } from "@esim-webhooks/dashboard";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { loggerTo } from "../../../test/support/loggers.ts";
import { callsOf, codeOf } from "./page-call.ts";

type AnyInbox = InboxWriter &
  InboxAdmin & {
    createWorker?(handlers: Handlers<EsimEvents>): ReturnType<typeof createWorker>;
  };

/** Opens an empty inbox, whose events are dead after one attempt. Lanes are eSIM references, where the engine has lanes. */
export type OpenInbox = () => Promise<AnyInbox>;

const esim = "730155284096617302";
const iccid = "8932042000010012344";

/** An entry of the eSIM. `msg_7` is received 7 seconds after its event. An amount of 0 becomes one that no number of JavaScript holds. */
function suiteEntry(
  id: string,
  type: "esim.faulted" | "esim.enabled" = "esim.faulted",
  more = {},
): InboxEntry {
  const timestamp = "2026-11-20T10:00:00Z";
  const receivedAt = new Date(Date.parse(timestamp) + Number(id.slice(4)) * 1000);
  const made = entry(id, { type, timestamp, receivedAt, esim, data: { iccid, ...more } });
  const text = Buffer.from(made.body).toString();
  const body = Buffer.from(text.replace('"amount":0', '"amount":12345678901234567890.10'));
  return { ...made, body, key: "key:1a2b3c4d" };
}

const failing = ["msg_1", "msg_2", "msg_3"];

/** What handlers fail with: two causes. */
function errorOf(id: string): Error {
  return new Error(id === "msg_3" ? "CRM answered 422" : `no SIM ${iccid}${id.slice(4)}`);
}

/** An error without its name, which BullMQ does not keep. */
function bare(error: string): string {
  return error.replace(/^Error: /, "");
}

/** Three dead events of one eSIM, a done one, and one that waits. */
async function stored(inbox: AnyInbox): Promise<void> {
  await inbox.put([
    ...failing.map((id) => suiteEntry(id, "esim.faulted", { amount: 0 })),
    suiteEntry("msg_4"),
  ]);
  await work(inbox);
  await inbox.put([suiteEntry("msg_5", "esim.enabled")]);
}

async function work(inbox: AnyInbox): Promise<void> {
  const stop = new AbortController();
  const handlers: Handlers<EsimEvents> = {
    "*": ({ id }, context) => {
      if (failing.includes(id)) throw errorOf(id);
      return context.discard("not needed");
    },
  };
  const worker = hasRole(inbox, "queue")
    ? createWorker(inbox as InboxQueue, handlers, { maxAttempts: 1, pollMs: 20 })
    : inbox.createWorker?.(handlers);
  if (worker === undefined) throw new Error("This inbox has no worker.");
  const running = worker.run({ signal: stop.signal });
  await expect
    .poll(async () => {
      const { ready, leased, dead } = (await inbox.gauges()).counts;
      return { ready, leased, dead };
    })
    .toEqual({ ready: 0, leased: 0, dead: failing.length });
  stop.abort();
  await running;
}

interface Logged {
  readonly [field: string]: unknown;
}

interface Setting {
  readonly inbox: AnyInbox;
  readonly operator: ReturnType<typeof callsOf>;
  readonly viewer: ReturnType<typeof callsOf>;
  readonly logged: Logged[];
}

async function setUp(open: OpenInbox, options: Partial<DashboardOptions> = {}): Promise<Setting> {
  const inbox = await open();
  onTestFinished(() => inbox.close());
  await stored(inbox);
  const logged: Logged[] = [];
  const note = (fields: Logged) => void logged.push(fields);
  const logger = loggerTo(note);
  const as = (role: "viewer" | "operator") =>
    callsOf(
      inboxDashboard(inbox, {
        authorize: () => ({ role, name: role === "viewer" ? "vera" : "otto" }),
        logger,
        ...options,
      }),
    );
  return { inbox, operator: as("operator"), viewer: as("viewer"), logged };
}

/** All calls of the dashboard, with an inbox of one engine. */
export function dashboardSuite(name: string, open: OpenInbox): void {
  describe(`the dashboard of a ${name}`, () => {
    it("says who looks, and which filters the engine lacks, each with a reason", async () => {
      const { inbox, viewer, operator } = await setUp(open, { title: "production", color: "#b42318" });
      expect((await viewer("session", {})).name).toBe("vera");
      const session = await operator("session", {});
      expect(session).toMatchObject({
        name: "otto",
        role: "operator",
        title: "production",
        color: "#b42318",
        hasEndpoints: false,
      });
      expect(session.types).toContain("esim.faulted");
      const hasAll = inbox.capabilities.filters === undefined;
      expect(Object.keys(session.missingFilters).sort()).toEqual(
        hasAll ? [] : ["error", "since", "source", "subject", "types", "until"],
      );
      for (const reason of Object.values(session.missingFilters)) expect(reason).toMatch(/^The engine .*\.$/);
      expect(session.pausesOnlyAll).toEqual(
        inbox.capabilities.pauses === "all" ? expect.stringContaining("all types") : null,
      );
    });

    it("refuses a filter that the engine lacks, and says so", async () => {
      const { inbox, viewer } = await setUp(open);
      if (inbox.capabilities.filters === undefined) return;
      expect(await codeOf(viewer("list", { filter: { types: ["esim.faulted"] } }))).toBe("invalid_call");
    });

    it("shows what waits and what is dead, by cause, without personal data", async () => {
      const { inbox, viewer } = await setUp(open);
      const gauges = await viewer("gauges", {});
      expect(gauges.counts).toMatchObject({ ready: 1, dead: 3, leased: 0 });
      expect([gauges.capped, gauges.lastDeliveryAt]).toEqual([[], expect.stringMatching(/Z$/)]);
      const now = await viewer("now", {});
      expect(now.deadSearched).toBe(3);
      expect(now.deadCauses.map(({ error, count }) => [bare(error), count])).toEqual([
        ["no SIM #", 2],
        ["CRM answered 422", 1],
      ]);
      expect(now.deadCauses[0]?.types).toEqual(["esim.faulted"]);
      expect(now.deadCauses[0]).toMatchObject({ lastHour: 2, hourBefore: 0 });
      expect(now.deadCauses[0]).toMatchObject({ oldestAt: "2026-11-20T10:00:01.000Z" });
      const { rows } = await inbox.list({ state: "dead" });
      const ofCause = rows.filter(({ error }) => error?.includes("no SIM"));
      const died = ofCause.map(({ settledAt }) => settledAt?.toISOString()).sort();
      expect(now.deadCauses[0]?.newestAt).toBe(died.at(-1));
      expect(now.pauses).toEqual([]);
      expect(now.lastPass).toBeNull();
      expect(now.minutes).toBeNull();
      expect(JSON.stringify(now)).not.toContain(iccid);
    });

    it("shows the keys that verified the newest events, and until when those of the key store are valid", async () => {
      const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
      const keys = {
        read: async () => ({
          version: "1",
          record: { keys: [{ secret, notAfter: "2999-01-01T00:00:00Z" }] },
        }),
      };
      const { viewer } = await setUp(open, { keys });
      const { keys: shown } = await viewer("now", {});
      expect(shown).toHaveLength(2);
      expect(shown?.[0]).toMatchObject({ validUntil: "2999-01-01T00:00:00.000Z", lastUsedAt: null });
      expect(shown?.[0]?.key).toMatch(/^key:[0-9a-f]{8}$/);
      expect(shown?.[1]).toEqual({
        key: "key:1a2b3c4d",
        validUntil: null,
        lastUsedAt: "2026-11-20T10:00:05.000Z",
      });
    });

    it("lists the events of a state page by page, and counts them", async () => {
      const { inbox, viewer } = await setUp(open);
      const filter = { state: "dead" } as const;
      const { rows, nextCursor } = await viewer("list", { filter });
      expect(rows.map(({ id }) => id).sort()).toEqual(["msg_1", "msg_2", "msg_3"]);
      expect(nextCursor).toBeNull();
      expect(rows.map(({ error }) => error).join()).not.toContain(iccid);
      expect(await viewer("count", { filter })).toEqual({ count: 3, isMore: false, searchedTo: null });
      expect((await viewer("list", { filter: { idPrefix: "msg_3" } })).rows).toMatchObject([{ id: "msg_3" }]);

      const more = Array.from({ length: 60 }, (_, number) => suiteEntry(`msg_${100 + number}`));
      await inbox.put(more);
      const seen: string[] = [];
      let blocked = 0;
      let cursor: string | null | undefined;
      do {
        const page = await viewer("list", {
          filter: { state: "ready" },
          ...(cursor ? { cursor } : {}),
        });
        expect(page.rows.length).toBeLessThanOrEqual(50);
        seen.push(...page.rows.map(({ id }) => id));
        blocked += page.rows.filter(({ heldBack }) => heldBack === "blocked").length;
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen.sort()).toEqual(["msg_5", ...more.map(({ id }) => id)].sort());
      expect(blocked).toBe(hasRole(inbox, "queue") ? seen.length - 1 : 0); // they are of one lane
    });

    it("searches on while it finds too few events for a page, and says how far it came when that takes too long", async () => {
      const { inbox } = await setUp(open);
      const { rows } = await inbox.list({}, { limit: 1 });
      const now = vi.spyOn(performance, "now").mockReturnValue(0);
      onTestFinished(() => now.mockRestore());
      const sparse = {
        ...inbox,
        list: async (_: unknown, { cursor = "0" } = {}) => {
          const page = Number(cursor);
          if (page === 150) now.mockReturnValue(1000);
          return {
            rows: page % 100 === 99 ? rows : [],
            nextCursor: String(page + 1),
            searchedTo: new Date(1000 - page),
          };
        },
      };
      const viewer = callsOf(inboxDashboard(sparse, { authorize: () => ({ role: "viewer", name: "vera" }) }));
      const page = await viewer("list", { filter: { subject: "esim_1" } });
      expect(page).toMatchObject({ nextCursor: "151", searchedTo: new Date(850).toISOString() });
      expect(page.rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    });

    it("counts what waits, and what no index finds among the newest events", async () => {
      const { inbox, viewer } = await setUp(open);
      const counted = (filter: Parameters<typeof viewer<"count">>[1]["filter"]) =>
        viewer("count", { filter });
      const all = { isMore: false, searchedTo: null };
      expect(await counted({ state: "ready" })).toEqual({ count: 1, ...all });
      expect(await counted({ state: "leased" })).toEqual({ count: 0, ...all });
      expect(await counted({ state: "done" })).toEqual({ count: 1, ...all });
      expect(await counted({})).toEqual({ count: 5, ...all });
      expect(await counted({ ids: ["msg_1"] })).toEqual({ count: 1, ...all });
      if (inbox.capabilities.filters !== undefined) return;
      expect(await counted({ types: ["esim.faulted"] })).toEqual({ count: 4, ...all });
      expect(await counted({ state: "ready", types: ["esim.enabled"] })).toEqual({ count: 1, ...all });
      const gauges = await inbox.gauges();
      const capped = {
        ...gauges,
        counts: { ...gauges.counts, ready: 1001, waiting: 7 },
        capped: ["ready" as const],
      };
      const ofCapped = callsOf(
        inboxDashboard(
          { ...inbox, gauges: async () => capped },
          { authorize: () => ({ role: "viewer", name: "vera" }) },
        ),
      );
      expect(await ofCapped("count", { filter: { state: "ready" } })).toEqual({
        count: 1007,
        isMore: true,
        searchedTo: null,
      });
      const rows = (await inbox.list()).rows.map((row) => ({ ...row, state: "done" as const }));
      const searchedTo = new Date("2026-11-20T10:00:01Z");
      const list = async () => {
        const endAt = performance.now() + 30; // of a slow database
        while (performance.now() < endAt);
        return { rows, nextCursor: "next", searchedTo };
      };
      const large = { ...inbox, list };
      const ofLarge = callsOf(inboxDashboard(large, { authorize: () => ({ role: "viewer", name: "vera" }) }));
      expect(await ofLarge("count", { filter: { types: ["esim.faulted"] } })).toEqual({
        count: expect.any(Number),
        isMore: true,
        searchedTo: "2026-11-20T10:00:01.000Z",
      });
    });

    it("selects the events of one cause, and no other whose error has the same words", async () => {
      const { viewer, operator } = await setUp(open);
      const { deadCauses } = await viewer("now", {});
      const cause = deadCauses[0]?.error ?? "";
      const filter = { state: "dead" as const, cause };
      expect(await viewer("count", { filter })).toEqual({ count: 2, isMore: false, searchedTo: null });
      expect((await viewer("list", { filter })).rows.map(({ error }) => error)).toEqual([
        expect.stringContaining("no SIM"),
        expect.stringContaining("no SIM"),
      ]);
      expect(await viewer("count", { filter: { ...filter, cause: cause.slice(0, -1) } })).toMatchObject({
        count: 0,
      });
      expect(await operator("retry", { filter, most: 10 })).toMatchObject({ done: 2 });
      expect((await viewer("now", {})).deadCauses).toHaveLength(1);
    });

    it("searches the text of errors for operators only, since viewers see it masked", async () => {
      const { inbox, viewer, operator } = await setUp(open);
      if (inbox.capabilities.filters !== undefined) return;
      const filter = { state: "dead" as const, error: iccid.slice(0, 12) };
      expect(await codeOf(viewer("count", { filter }))).toBe("not_an_operator");
      expect(await codeOf(viewer("list", { filter }))).toBe("not_an_operator");
      expect((await viewer("session", {})).missingFilters.error).toMatch(/^For operators/);
      expect((await operator("session", {})).missingFilters).toEqual({});
      expect(await operator("count", { filter: { state: "dead", error: "CRM" } })).toMatchObject({
        count: 1,
      });
    });

    it("retries each event once, although it dies again before the last one is retried", async () => {
      const { inbox } = await setUp(open);
      const retried: string[] = [];
      const dead = Array.from({ length: 1200 }, (_, n) => ({
        source: "default",
        id: `msg_${n}`,
        error: "no",
      }));
      const dying = {
        ...inbox,
        list: async (_: unknown, { cursor = "0", limit = 50 } = {}) => {
          const end = Number(cursor) + limit;
          const rows = dead.slice(Number(cursor), end) as unknown as InboxRow[];
          return { rows, nextCursor: end < dead.length ? String(end) : null, searchedTo: null };
        },
        redrive: async ({ ids = [] }: RedriveFilter) => {
          retried.push(...ids);
          return ids.length;
        },
      };
      const own = callsOf(inboxDashboard(dying, { authorize: () => ({ role: "operator", name: "otto" }) }));
      const { done, events } = await own("retry", { filter: {}, most: 1100 });
      expect([done, events.flatMap(({ ids }) => ids)]).toEqual([1100, retried]);
      expect([retried.length, new Set(retried).size]).toEqual([1100, 1100]);
    });

    it("selects by type, eSIM, time, source and error", async () => {
      const { inbox, operator } = await setUp(open);
      if (inbox.capabilities.filters !== undefined) return;
      const ids = async (filter: Parameters<typeof operator<"list">>[1]["filter"]) =>
        (await operator("list", { filter })).rows.map(({ id }) => id);
      expect(await ids({ types: ["esim.enabled"] })).toEqual(["msg_5"]);
      expect(await ids({ subject: esim })).toHaveLength(5);
      expect(await ids({ subject: "another" })).toEqual([]);
      expect(await ids({ since: "2026-11-20T11:00:03+01:00", until: "2026-11-20T10:00:05Z" })).toEqual([
        "msg_4",
        "msg_3",
      ]);
      expect(await ids({ source: "another" })).toEqual([]);
      expect(await ids({ state: "dead", error: "CRM" })).toEqual(["msg_3"]);
    });

    it("shows an event with its attempts, its payload without personal data, and its neighbours", async () => {
      const { inbox, viewer } = await setUp(open);
      const event = await viewer("event", { source: "default", id: "msg_2" });
      expect(event).toMatchObject({ id: "msg_2", state: "dead", waits: null, heldBy: null, subject: esim });
      expect(bare(event.error ?? "")).toBe("no SIM •••");
      expect(event.history).toMatchObject([
        { reason: "failed", error: expect.stringMatching(/no SIM •••$/) },
      ]);
      expect(event.stack).toMatch(/^at /);
      expect(event.payload).toMatchObject({ kind: "json", isMasked: true });
      expect(JSON.stringify(event)).not.toContain(iccid);
      const { payload } = event;
      if (payload.kind === "none") throw new Error("no payload");
      expect(payload.text).toContain('"iccid":"•••"');
      const knowsEsims = inbox.capabilities.filters === undefined;
      const neighbours = [event.before?.id, event.after?.id];
      expect(neighbours).toEqual(knowsEsims ? ["msg_1", "msg_3"] : [undefined, undefined]);
    });

    it("says why an event waits", async () => {
      const { inbox, viewer } = await setUp(open);
      await inbox.put([suiteEntry("msg_6", "esim.enabled", { lateness: 1 })]);
      const { waits, heldBy } = await viewer("event", { source: "default", id: "msg_6" });
      if (inbox.capabilities.ordered) {
        expect(heldBy).toEqual({ source: "default", id: "msg_5" });
        expect(waits).toBe("Its lane is held by the event msg_5, which occurred before it and waits too.");
      } else expect(waits).toMatch(/^It is due, but no worker|^It has been due/);
      await inbox.pause({ reason: "the CRM is down", by: "otto" });
      const paused = await viewer("event", { source: "default", id: "msg_6" });
      expect(paused.waits).toMatch(
        /^All types are paused by otto since .*, until it is resumed: the CRM is down$/,
      );
    });

    it("says why there is no payload, and that there is no such event", async () => {
      const { viewer } = await setUp(open);
      const done = await viewer("event", { source: "default", id: "msg_4" });
      expect(done.state).toBe("done");
      if (done.payload.kind === "none")
        expect(done.payload.why).toMatch(/^The body was removed when the event was done/);
      expect(await codeOf(viewer("event", { source: "default", id: "msg_none" }))).toBe("event_not_found");
    });

    it("reveals a payload to operators alone, exactly as it was signed, and logs who asked", async () => {
      const { operator, viewer, logged } = await setUp(open);
      const key = { source: "default", id: "msg_1" };
      expect(await codeOf(viewer("reveal", key))).toBe("not_an_operator");
      const refused = { code: "not_an_operator", by: "vera", call: "reveal" };
      expect(logged).toEqual([refused]);
      const body = Buffer.from(suiteEntry("msg_1", "esim.faulted", { amount: 0 }).body).toString();
      expect(body).toContain("12345678901234567890.10");
      expect(await operator("reveal", key)).toEqual({ kind: "json", text: body, isMasked: false });
      expect(logged).toEqual([refused, { code: "dashboard_reveal", by: "otto", ...key }]);
    });

    it("counts the events of each type by state, and shows those of the catalog", async () => {
      const { viewer } = await setUp(open);
      const { allPaused, types } = await viewer("types", {});
      expect([allPaused, types]).toEqual([
        null,
        expect.arrayContaining([{ type: "esim.mccswitch", pause: null, drift: [] }]),
      ]);
      const counted = {
        dead: [{ type: "esim.faulted", count: 3, lastAt: expect.stringMatching(/Z$/) }],
        done: [{ type: "esim.faulted", count: 1, lastAt: "2026-11-20T10:00:04.000Z" }],
        ready: [{ type: "esim.enabled", count: 1, lastAt: "2026-11-20T10:00:05.000Z" }],
        leased: [],
      };
      for (const state of ["dead", "done", "ready", "leased"] as const)
        expect(await viewer("typeCounts", { state }), state).toEqual({
          counts: counted[state],
          nextCursor: null,
        });
    });

    it("says what became of exactly the events that were retried, whichever process is asked", async () => {
      const { inbox, operator, viewer } = await setUp(open);
      const { done, events } = await operator("retry", { filter: { state: "dead" }, most: 2 });
      expect([done, events.map(({ source, ids }) => [source, ids.length])]).toEqual([2, [["default", 2]]]);
      const [retried = { source: "", ids: [] }] = events;
      expect(await viewer("progress", retried)).toEqual(["ready", "ready"]);
      await work(inbox);
      expect(await viewer("progress", retried)).toEqual(["dead", "dead"]);
      const others = { source: "default", ids: ["msg_none", "msg_4"] };
      expect(await viewer("progress", others)).toEqual(["gone", "done"]);
      expect(await viewer("progress", { ...retried, source: "another" })).toEqual(["gone", "gone"]);
    });

    it("retries as many dead events as were confirmed, of two operators only what the other has left", async () => {
      const { operator, viewer, logged, inbox } = await setUp(open);
      const filter = { state: "dead" } as const;
      expect(await codeOf(viewer("retry", { filter, most: 3 }))).toBe("not_an_operator");
      expect((await inbox.gauges()).counts.dead).toBe(3);
      const retried = async (most: number) => (await operator("retry", { filter, most })).done;
      expect(await retried(1)).toBe(1);
      expect(await retried(3)).toBe(2);
      expect(await retried(3)).toBe(0);
      expect((await inbox.gauges()).counts).toMatchObject({ dead: 0, ready: 4 });
      expect(logged).toMatchObject([
        { code: "not_an_operator", by: "vera", call: "retry" },
        { code: "dashboard_retry", by: "otto", events: 1, most: 1, filter },
        { code: "dashboard_retry", by: "otto", events: 2, most: 3, filter },
        { code: "dashboard_retry", by: "otto", events: 0, most: 3, filter },
      ]);
    });

    it("continues round by round with what it has not changed yet, and not with what has died again", async () => {
      const { inbox, operator } = await setUp(open);
      const first = await operator("retry", { filter: {}, most: 1 });
      expect((await operator("session", {})).continues).toBe(first.nextCursor !== null);
      if (first.nextCursor === null || !hasRole(inbox, "queue")) return;
      const [{ ids: [again] = [] } = {}] = first.events;
      const state = "dead";
      for (const lease of await inbox.take({ limit: 10, leaseMs: 60_000 }))
        if (lease.id === again) await inbox.settle([{ ...lease, state, error: "no" }]);
      const second = await operator("retry", { filter: {}, most: 1, cursor: first.nextCursor });
      const third = await operator("retry", { filter: {}, most: 5, cursor: second.nextCursor ?? "" });
      expect([second.done, third.done, third.nextCursor]).toEqual([1, 1, null]);
      expect((await inbox.list({ state })).rows).toMatchObject([{ id: again }]);
    });

    it("changes chosen events alone, of their source", async () => {
      const { inbox, operator } = await setUp(open);
      const ids = ["msg_1", "msg_3"];
      expect((await operator("retry", { filter: { source: "other", ids }, most: 2 })).done).toBe(0);
      expect((await operator("discard", { filter: { source: "default", ids }, most: 2 })).done).toBe(2);
      expect((await inbox.list({ state: "dead" })).rows).toMatchObject([{ id: "msg_2" }]);
    });

    it("runs events that are due later now, and says in their history who did it", async () => {
      const { inbox, operator, viewer } = await setUp(open);
      if (!hasRole(inbox, "queue")) return;
      await inbox.put([suiteEntry("msg_8", "esim.enabled")]);
      for (const lease of await inbox.take({ limit: 10, leaseMs: 60_000 }))
        await inbox.settle([{ ...lease, state: "retry", afterMs: 3_600_000, error: "no CRM" }]);
      const filter = { state: "ready", error: "no CRM" } as const;
      const [waiting] = (await operator("list", { filter })).rows;
      const { count } = await operator("count", { filter: { ...filter, dueLater: true } });
      expect(count).toBeGreaterThan(0);
      expect(await operator("retry", { filter, most: 50 })).toMatchObject({ done: count });
      const { history } = await viewer("event", { source: "default", id: waiting?.id ?? "" });
      expect(history.at(-1)).toMatchObject({ reason: "retried", by: "otto", attempts: 1 });
    });

    it("gives events up that wait, with a reason and the name of who did it, where the engine can", async () => {
      const { inbox, operator, viewer, logged } = await setUp(open);
      const filter = { state: "ready" } as const;
      const reason = "the eSIM is gone";
      expect(await codeOf(viewer("giveUp", { filter, most: 1, reason }))).toBe("not_an_operator");
      expect((await viewer("session", {})).givesUp).toBe(inbox.capabilities.givesUp !== false);
      if (inbox.capabilities.givesUp === false) return;
      const before = await inbox.count(filter);
      expect(before).toBeGreaterThan(0);
      expect(await operator("giveUp", { filter, most: 50, reason })).toEqual({
        done: before,
        leased: 0,
        nextCursor: null,
      });
      expect(await inbox.count(filter)).toBe(0);
      const { rows } = await inbox.list({ state: "dead", error: "Given up by otto: the eSIM is gone" });
      expect(rows).toHaveLength(before);
      expect(logged.at(-1)).toMatchObject({ code: "dashboard_give_up", by: "otto", events: before, reason });
      expect(await codeOf(operator("giveUp", { filter: { state: "dead" }, most: 1, reason }))).toBe(
        "invalid_call",
      );
    });

    it("refuses to retry done events, and to delete events that are not dead", async () => {
      const { operator } = await setUp(open);
      expect(await codeOf(operator("retry", { filter: { state: "done" }, most: 1 }))).toBe("invalid_call");
      expect(await codeOf(operator("discard", { filter: { state: "ready" }, most: 1 }))).toBe("invalid_call");
    });

    it("deletes dead events, and no others", async () => {
      const { operator, viewer, logged, inbox } = await setUp(open);
      expect(await codeOf(viewer("discard", { filter: {}, most: 3 }))).toBe("not_an_operator");
      expect(await operator("discard", { filter: { idPrefix: "msg_3" }, most: 1 })).toMatchObject({
        done: 1,
      });
      expect(await operator("discard", { filter: {}, most: 10 })).toMatchObject({
        done: 2,
        nextCursor: null,
      });
      expect((await inbox.gauges()).counts).toMatchObject({ dead: 0, ready: 1 });
      expect(logged.map(({ code, by, events }) => [code, by, events])).toEqual([
        ["not_an_operator", "vera", undefined],
        ["dashboard_discard", "otto", 1],
        ["dashboard_discard", "otto", 2],
      ]);
    });

    it("pauses and resumes in the name of the operator", async () => {
      const { operator, viewer, logged, inbox } = await setUp(open);
      const type = inbox.capabilities.pauses === "all" ? null : "esim.faulted";
      const pause = { type, reason: "the CRM is down" };
      expect(await codeOf(viewer("pause", pause))).toBe("not_an_operator");
      expect(await codeOf(viewer("resume", { type }))).toBe("not_an_operator");
      await operator("pause", { ...pause, forMs: 3_600_000 });
      const { pauses } = await viewer("now", {});
      expect(pauses).toMatchObject([{ ...pause, by: "otto" }]);
      expect(Date.parse(pauses[0]?.until ?? "")).toBeGreaterThan(Date.now());
      expect(await operator("resume", { type })).toEqual({ done: 1 });
      expect(await operator("resume", { type })).toEqual({ done: 0 });
      expect((await viewer("now", {})).pauses).toEqual([]);
      expect(logged).toMatchObject([
        { code: "not_an_operator", by: "vera", call: "pause" },
        { code: "not_an_operator", by: "vera", call: "resume" },
        { code: "dashboard_pause", by: "otto", reason: "the CRM is down", until: pauses[0]?.until },
        { code: "dashboard_resume", by: "otto", pauses: 1 },
        { code: "dashboard_resume", by: "otto", pauses: 0 },
      ]);
      expect(await codeOf(operator("pause", { type, reason: " " }))).toBe("invalid_call");
    });

    it("keeps the pause of a colleague unless the operator has seen it", async () => {
      const { inbox, operator, viewer, logged } = await setUp(open);
      const type = inbox.capabilities.pauses === "all" ? null : "esim.faulted";
      await inbox.pause({ reason: "the CRM is down", by: "olga", ...(type !== null && { types: [type] }) });
      const again = { type, reason: "a migration" };
      await expect(operator("pause", again)).rejects.toThrow(
        /409 already_paused: .* paused by olga: the CRM is down\. Cancel, and/,
      );
      const [seen] = (await viewer("now", {})).pauses;
      expect(await codeOf(operator("pause", { ...again, replaces: "2026-11-20T10:00:00.000Z" }))).toBe(
        "already_paused",
      );
      expect((await inbox.paused()).map(({ by }) => by)).toEqual(["olga"]);
      await operator("pause", { ...again, replaces: seen?.since ?? "" });
      expect((await viewer("now", {})).pauses).toMatchObject([{ type, reason: "a migration", by: "otto" }]);
      expect(logged).toMatchObject([{ code: "dashboard_pause", replacedPauseOf: "olga", until: null }]);
    });

    it("erases an eSIM, says before how many events that are and after what was not reached, and logs nothing that names it", async () => {
      const { inbox, operator, viewer, logged } = await setUp(open);
      expect(await codeOf(viewer("erase", { subject: esim }))).toBe("not_an_operator");
      const found = { ready: 1, leased: 0, done: 1, unhandled: 0, dead: 3 };
      const canCount = inbox.capabilities.filters === undefined;
      expect(await operator("erasable", { subject: esim })).toEqual(canCount ? found : null);
      const { events, notReached } = await operator("erase", { subject: esim });
      expect(events).toMatchObject({ ready: 1, dead: 3 });
      expect(notReached.length).toBeGreaterThan(3);
      const { payload, subject } = await viewer("event", { source: "default", id: "msg_1" });
      expect([payload, subject]).toEqual([{ kind: "none", why: "The body was erased." }, null]);
      expect(logged).toMatchObject([
        { code: "not_an_operator", by: "vera", call: "erase" },
        { code: "dashboard_erase", by: "otto" },
      ]);
      expect(JSON.stringify(logged)).not.toContain(esim);
    });

    it("shows the imports and passes, the last one first", async () => {
      const { inbox, viewer } = await setUp(open);
      const startedAt = new Date("2026-11-20T10:00:00Z");
      const endedAt = new Date("2026-11-20T10:01:00Z");
      const note = {
        source: "default",
        startedAt,
        endedAt,
        outcome: "complete",
        ledger: { read: 3, stored: 3 },
      };
      await inbox.noteRun({ kind: "import", run: "import-1", ...note });
      await inbox.noteRun({
        kind: "reconcile",
        run: "pass-2",
        ...note,
        endedAt: new Date(endedAt.getTime() + 1),
      });
      const runs = await viewer("runs", {});
      expect(runs.map(({ kind, run }) => [kind, run])).toEqual([
        ["reconcile", "pass-2"],
        ["import", "import-1"],
      ]);
      expect(runs[0]).toMatchObject({
        startedAt: "2026-11-20T10:00:00.000Z",
        ledger: { read: 3, stored: 3 },
      });
      expect((await viewer("now", {})).lastPass?.run).toBe("pass-2");
    });
  });
}
