import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Inbox } from "@esim-webhooks/core";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { cli, type Ended, folder } from "../cli.ts";
import { configOf, operatedInMemory } from "../stored.ts";

expectWarnings("short_retention");

const hourMs = 3_600_000;
const iccid = "8932042000010012344";
let inMemory: Inbox;
let at: { readonly cwd: string };

/** Two dead events, one of them a day old; one done and one ready event. */
beforeEach(async () => {
  at = { cwd: folder() };
  inMemory = operatedInMemory();
  const now = Date.now();
  await inMemory.put([
    entry("evt_old", { type: "esim.faulted", receivedAt: new Date(now - 25 * hourMs) }),
    entry("evt_dead", { receivedAt: new Date(now - hourMs) }),
    entry("evt_done", { receivedAt: new Date(now - hourMs) }),
  ]);
  const taken = await inMemory.take({ limit: 10, leaseMs: 60_000 });
  await inMemory.settle(
    taken.map((lease) =>
      lease.id === "evt_done"
        ? { ...lease, state: "done" as const }
        : { ...lease, state: "dead" as const, error: `Error: no SIM ${iccid}` },
    ),
  );
  await inMemory.put([entry("evt_ready", { type: "esim.lifecycle.suspended", receivedAt: new Date(now) })]);
});

const inbox = (...args: string[]): Promise<Ended> =>
  cli(["inbox", ...args, "--config", configOf("memory")], at);
const lines = (ran: Ended) => ran.stdout.trimEnd().split("\n");
const ids = (ran: Ended) =>
  ran.stdout ? lines(ran).map((line) => (JSON.parse(line) as { id: string }).id) : [];

describe("inbox stats", () => {
  it("shows what waits and what is dead", async () => {
    const { code, stdout, stderr } = await inbox("stats");
    expect(code).toBe(0);
    expect(lines({ stdout } as Ended).slice(0, 2)).toEqual([
      "READY  WAITING  BLOCKED  PAUSED  LEASED  UNHANDLED  DEAD",
      "    1        ·        ·       ·       ·          ·     2",
    ]);
    expect(stdout).toMatch(/^2 events are dead: esim-webhooks inbox errors$/m);
    expect(stderr).toBe("For exact counts, done events and types, add --exact. It reads the whole inbox.\n");
  });

  it("prints its numbers as JSON, with the pauses", async () => {
    await inMemory.pause({ types: ["esim.faulted"], reason: "CRM is down", by: "ops" });
    const { stdout } = await inbox("stats", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      counts: { ready: 1, dead: 2 },
      capped: [],
      pauses: [{ type: "esim.faulted", reason: "CRM is down", by: "ops", until: null }],
    });
  });

  it("counts events by state and type with --exact", async () => {
    const { code, stdout, stderr } = await inbox("stats", "--exact");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^TYPE +READY +LEASED +DONE +UNHANDLED +DEAD$/m);
    expect(stdout).toMatch(/^esim\.faulted +· +· +· +· +1$/m);
    expect(stdout).toMatch(/^2 events are dead: esim-webhooks inbox errors$/m);
    expect(JSON.parse((await inbox("stats", "--exact", "--json")).stdout)).toMatchObject({
      states: { leased: 0, dead: 2 },
      conflicts: 0,
    });
  });
});

describe("inbox workers", () => {
  it("lists the workers that have reported, and says that there are none", async () => {
    const none = await inbox("workers");
    expect({ code: none.code, stdout: none.stdout }).toEqual({ code: 0, stdout: "" });
    expect(none.stderr).toMatch(/^No worker has reported to .* in the last 30 s\.$/m);
    const worker = {
      id: "web-1:7:9f3c01",
      host: "web-1",
      pid: 7,
      version: "0.1.0",
      concurrency: 20,
      running: 3,
    };
    await inMemory.report?.({ ...worker, startedMsAgo: 60_000, sinceLastTakeMs: 2000 });
    expect(lines(await inbox("workers"))[1]).toMatch(/^web-1:7:9f3c01 +0\.1\.0 +1m ago +3 of 20 +\d+s ago$/);
    expect(JSON.parse((await inbox("workers", "--json")).stdout)).toMatchObject([worker]);
  });
});

describe("inbox list", () => {
  it("prints one line per event, newest first", async () => {
    const ran = await inbox("list", "--status", "dead");
    expect(lines(ran)).toEqual([
      "ID        TYPE          STATE  RECEIVED  TRIES  ERROR",
      "evt_dead  esim.enabled  dead     1h ago      1  Error: no SIM •••",
      "evt_old   esim.faulted  dead     1d ago      1  Error: no SIM •••",
    ]);
  });

  it.each([
    ["state", ["--status", "dead"], ["evt_dead", "evt_old"]],
    ["type", ["--types", "esim.faulted,esim.assigned"], ["evt_old"]],
    ["family of types", ["--types", "esim.lifecycle.*"], ["evt_ready"]],
    ["time of receipt, from --since", ["--status", "dead", "--since", "2h"], ["evt_dead"]],
    ["time of receipt, before --until", ["--until", "1d"], ["evt_old"]],
    ["text of the error", ["--error", "no SIM"], ["evt_dead", "evt_old"]],
    ["text of the error that is no pattern", ["--error", "no_%"], []],
    ["id", ["--id", "evt_old", "--id", "evt_done"], ["evt_done", "evt_old"]],
    ["source", ["--source", "backup"], []],
  ])("filters by %s", async (_name, filter, found) => {
    expect(ids(await inbox("list", "--json", ...filter))).toEqual(found);
  });

  it("prints a page, the cursor of the next one, and all events with --all", async () => {
    const first = await inbox("list", "--status", "dead", "--limit", "1", "--json");
    expect(ids(first)).toEqual(["evt_dead"]);
    const { nextCursor } = JSON.parse(first.stderr) as { nextCursor: string };
    const second = await inbox("list", "--status", "dead", "--limit", "1", "--json", "--cursor", nextCursor);
    expect([ids(second), second.stderr]).toEqual([["evt_old"], ""]);
    expect(ids(await inbox("list", "--status", "dead", "--all", "--limit", "1", "--json"))).toHaveLength(2);
  });

  it("refuses a --cursor that it has not printed", async () => {
    const { code, stderr } = await inbox("list", "--cursor", "x");
    expect(code).toBe(2);
    expect(stderr).toContain("--cursor is not a cursor that inbox list has printed.");
  });

  it("finds stored types outside the catalog by their family, and warns about types that match nothing", async () => {
    const stored = { ...entry("evt_new"), type: "roaming.started" };
    await inMemory.put([stored]);
    const found = await inbox("list", "--types", "roaming.*", "--json");
    expect(ids(found)).toEqual(["evt_new"]);
    expect(found.stderr).toBe("");
    const none = await inbox("list", "--types", "esim.faultd");
    expect(none).toMatchObject({ code: 0, stdout: "" });
    expect(none.stderr).toBe(
      'Warning (unknown_event_type): --types esim.faultd matches no known event type. Did you mean "esim.faulted"?\nNo event matches.\n',
    );
  });

  it("takes a comma in --id for a part of the id, and says so where no id is so", async () => {
    const { code, stderr } = await inbox("list", "--id", "evt_old,evt_done");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        "Error (invalid_usage): No id begins with evt_old,evt_done. An id may contain a comma: for several ids, write --id before each.\n",
    });
  });

  it("says that no event matches, and ends with 0", async () => {
    expect(await inbox("list", "--id", "evt_none")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "No event matches.\n",
    });
  });

  it("refuses a --since that is not a point in time, and ends with 2", async () => {
    const { code, stderr } = await inbox("list", "--since", "noon");
    expect(code).toBe(2);
    expect(stderr).toContain('"noon" is not a point in time.');
  });
});

describe("inbox errors", () => {
  it("groups dead events by their error, with any ids and numbers in it", async () => {
    await inMemory.put(
      ["evt_1", "evt_2", "evt_3"].map((id) =>
        entry(id, { type: "esim.faulted", receivedAt: new Date(Date.now() - hourMs) }),
      ),
    );
    const taken = await inMemory.take({ limit: 3, leaseMs: 60_000, only: ["esim.faulted"] });
    await inMemory.settle(
      taken.map((lease, n) => ({ ...lease, state: "dead", error: `Error: order ${n} refused with 409` })),
    );
    const shown = await inbox("errors");
    expect(shown.code).toBe(0);
    expect(lines(shown)).toEqual([
      expect.stringMatching(/^EVENTS +STATE +OLDEST +NEWEST +EXAMPLE +TYPES$/),
      expect.stringMatching(/^ +3 +dead +1h ago +(?:now|\d+s ago) +evt_[123] +esim\.faulted$/),
      "  Error: order # refused with 409",
      expect.stringMatching(/^ +2 +dead +1d ago +(?:now|\d+s ago) +evt_\w+ +esim\.\w+, esim\.\w+$/),
      "  Error: no SIM #",
    ]);
    const json = lines(await inbox("errors", "--limit", "1", "--json")).map((line) => JSON.parse(line));
    expect(json).toEqual([
      expect.objectContaining({
        error: "Error: order # refused with 409",
        count: 3,
        types: ["esim.faulted"],
        exampleId: expect.stringMatching(/^evt_[123]$/),
      }),
    ]);
  });

  it("takes the filters of list, and says that no event matches that has failed", async () => {
    expect(lines(await inbox("errors", "--since", "2h"))[1]).toMatch(/^ +1 .* evt_dead +esim\.enabled$/);
    const none = await inbox("errors", "--error", "another");
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No event that matches has failed.\n" });
  });
});

describe("inbox show", () => {
  it("shows an event with its personal data masked", async () => {
    const { code, stdout, stderr } = await inbox("show", "evt_dead");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^error +Error: no SIM •••$/m);
    expect(stdout).toContain('"iccid": "•••"');
    expect(stdout).not.toContain(iccid);
    expect(stderr).toContain("--reveal shows it");
  });

  it("shows personal data with --reveal", async () => {
    expect((await inbox("show", "evt_dead", "--reveal")).stdout).toContain(`"iccid": "${iccid}"`);
  });

  it("masks personal data in JSON too, which contains the signed text with --reveal", async () => {
    expect((await inbox("show", "evt_dead", "--json")).stdout).not.toContain(iccid);
    const { stdout } = await inbox("show", "evt_dead", "--json", "--reveal");
    const { bodyText } = JSON.parse(stdout) as { bodyText: string };
    expect(JSON.parse(bodyText)).toMatchObject({ type: "esim.enabled", data: { iccid } });
  });

  it("ends with 3 when there is no such event", async () => {
    const { code, stdout, stderr } = await inbox("show", "evt_none");
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("There is no event evt_none in");
  });

  it("takes the beginning of an id, unless several ids begin so", async () => {
    expect((await inbox("show", "evt_de")).stdout).toMatch(/^id +evt_dead$/m);
    const { code, stdout, stderr } = await inbox("show", "evt_");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^Error \(invalid_usage\): Several ids begin with evt_: evt_\w+, .+\. Write more characters of the id that you mean\.$/m,
    );
    expect((await inbox("retry", "--id", "evt_de", "--dry-run")).stdout).toBe("Would retry 1 dead event.\n");
    expect((await inbox("discard", "--id", "evt_none", "--dry-run")).stdout).toContain("Nothing to do");
  });

  it("finds an event of another source, and needs --source when there are several", async () => {
    await inMemory.put([{ ...entry("evt_dead"), source: "backup" }]);
    expect((await inbox("show", "evt_dead", "--source", "backup", "--json")).stdout).toContain(
      '"source":"backup"',
    );
    await inMemory.put([{ ...entry("evt_far"), source: "backup" }]);
    expect((await inbox("show", "evt_far")).stdout).toMatch(/^source +backup$/m);
    await inMemory.put([{ ...entry("evt_far"), source: "third" }]);
    const { code, stderr } = await inbox("show", "evt_far");
    expect(code).toBe(2);
    expect(stderr).toContain("from the sources third, backup. Choose one with --source.");
  });
});

describe("inbox retry", () => {
  it("makes the matching dead events ready again", async () => {
    const { code, stdout } = await inbox("retry", "--status", "dead", "--since", "2h", "--yes");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Made ready again: 1 dead event.\n" });
    expect(ids(await inbox("list", "--status", "dead", "--json"))).toEqual(["evt_old"]);
  });

  it("retries the events of one error, and prints the command that shows what becomes of them", async () => {
    expect((await inbox("retry", "--error", "another", "--yes")).stdout).toContain("Nothing to do");
    const one = await inbox("retry", "--error", "no SIM", "--types", "esim.enabled", "--yes");
    expect(one).toMatchObject({ code: 0, stdout: "Made ready again: 1 dead event.\n" });
    const [, watch = ""] = /^To see what becomes of them: esim-webhooks inbox (.+)$/m.exec(one.stderr) ?? [];
    expect(watch).toBe(`list --types esim.enabled --config ${configOf("memory")}`); // without the error, which a done event has no more
    const shown = await inbox("list", "--types", "esim.enabled", "--error", "no SIM", "--json");
    expect(ids(shown)).toEqual(["evt_dead"]);
    expect(shown.stdout).toContain('"state":"ready"');
    const all = await inbox("retry", "--yes");
    expect(all.stderr).toMatch(/^To see what becomes of them: esim-webhooks inbox stats --config /);
    expect(ids(await inbox("list", "--status", "dead", "--json"))).toEqual([]);
  });

  it("changes nothing with --dry-run, and says what it would do", async () => {
    const { code, stdout } = await inbox("retry", "--limit", "100", "--dry-run");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Would retry 2 dead events.\n" });
    expect(ids(await inbox("list", "--status", "dead", "--json"))).toHaveLength(2);
  });

  it("retries at most --limit events, oldest first", async () => {
    const { stdout } = await inbox("retry", "--limit", "1", "--yes", "--json");
    expect(JSON.parse(stdout)).toEqual({ action: "retry", dryRun: false, events: 1 });
    expect(ids(await inbox("list", "--status", "dead", "--json"))).toEqual(["evt_dead"]);
  });

  it("needs --yes without a terminal, and ends with 2 otherwise", async () => {
    const { code, stdout, stderr } = await inbox("retry");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Add --yes, or --dry-run");
    expect(ids(await inbox("list", "--status", "dead", "--json"))).toHaveLength(2);
  });

  it("makes unhandled events ready again with --status unhandled", async () => {
    await inMemory.put([entry("evt_new")]);
    const taken = await inMemory.take({ limit: 10, leaseMs: 60_000 });
    await inMemory.settle(taken.map((lease) => ({ ...lease, state: "unhandled" as const })));
    const { stdout } = await inbox("retry", "--status", "unhandled", "--id", "evt_new", "--yes");
    expect(stdout).toBe("Made ready again: 1 unhandled event.\n");
    expect(ids(await inbox("list", "--status", "unhandled", "--json"))).toEqual(["evt_ready"]);
    expect(ids(await inbox("list", "--status", "ready", "--json"))).toEqual(["evt_new"]);
  });

  describe("of events that are due later", () => {
    beforeEach(async () => {
      const store = inMemory;
      await store.put([entry("evt_late")]);
      for (const lease of await store.take({ limit: 10, leaseMs: hourMs }))
        await store.settle([
          lease.id === "evt_late"
            ? { ...lease, state: "retry", afterMs: hourMs, error: "CRM is down" }
            : { ...lease, state: "given_back" },
        ]);
    });

    it("runs them now, and notes who did it in their history", async () => {
      const waiting = ["retry", "--status", "waiting", "--error", "CRM is down"];
      expect((await inbox(...waiting, "--dry-run")).stdout).toBe("Would retry 1 waiting event.\n");
      const { stdout } = await inbox(...waiting, "--by", "ada", "--yes");
      expect(stdout).toBe("Made due now: 1 waiting event.\n");
      expect((await inbox("show", "evt_late")).stdout).toMatch(/retried by ada, 1 attempt before$/m);
      expect((await inbox(...waiting, "--yes")).stdout).toBe("Nothing to do: 0 waiting events.\n");
    });

    it("says of a named event that is due already that it is, and of one that waits how to run it now", async () => {
      const due = await inbox("retry", "--status", "waiting", "--id", "evt_ready", "--yes");
      expect(due.stderr).toBe(
        "evt_ready is ready. It is due, but no worker has reported in the last 30 s: start one.\n",
      );
      const waits = await inbox("retry", "--id", "evt_late", "--yes");
      expect(waits.stderr).toMatch(/To run it now, add --status waiting\.$/m);
    });
  });

  it("refuses any state but dead, unhandled and waiting", async () => {
    expect((await inbox("retry", "--status", "done", "--yes")).code).toBe(2);
  });

  describe("of a named event that is not dead", () => {
    beforeEach(async () => {
      const store = inMemory;
      await store.put(["evt_late", "evt_new", "evt_busy"].map((id) => entry(id)));
      for (const lease of await store.take({ limit: 10, leaseMs: hourMs })) {
        const { id } = lease;
        if (id === "evt_late")
          await store.settle([{ ...lease, state: "retry", afterMs: hourMs, error: "CRM is down" }]);
        if (id === "evt_new") await store.settle([{ ...lease, state: "unhandled" }]);
        if (id === "evt_ready") await store.settle([{ ...lease, state: "given_back" }]);
      }
    });

    it.each([
      [
        "evt_done",
        /^evt_done is done\. To run it again, import a dump that has it with esim-webhooks import --force\.$/,
      ],
      ["evt_new", /^evt_new is unhandled\. To retry it, add --status unhandled\.$/],
      [
        "evt_late",
        /^evt_late is ready\. Its last attempt failed, and the next one is due at \S+ \S+Z, in .*\.$/,
      ],
      [
        "evt_ready",
        /^evt_ready is ready\. It is due, but no worker has reported in the last 30 s: start one\.$/,
      ],
      ["evt_busy", /^evt_busy is leased\. A worker is handling it, attempt 1; it may keep it until .*\.$/],
    ])("has nothing to do for %s, and says its state and what comes next", async (id, said) => {
      const { code, stdout, stderr } = await inbox("retry", "--id", id, "--yes");
      expect({ code, stdout }).toEqual({ code: 0, stdout: "Nothing to do: 0 dead events.\n" });
      expect(stderr.trimEnd()).toMatch(said);
    });

    it("retries the others that were named, and says the same as JSON", async () => {
      const both = ["--id", "evt_dead", "--id", "evt_done"];
      const json = JSON.parse((await inbox("retry", ...both, "--dry-run", "--json")).stdout);
      expect(json).toMatchObject({
        events: 1,
        others: [{ source: "default", id: "evt_done", state: "done" }],
      });
      const { stdout, stderr } = await inbox("retry", ...both, "--yes");
      expect(stdout).toBe("Made ready again: 1 dead event.\n");
      expect(stderr).toMatch(/^evt_done is done\. /m);
      const again = await inbox("retry", "--id", "evt_old", "--status", "unhandled", "--yes");
      expect(again.stderr).toBe("evt_old is dead. To retry it, leave out --status unhandled.\n");
    });

    it("is the same for discard", async () => {
      const { stdout, stderr } = await inbox("discard", "--id", "evt_done", "--yes");
      expect(stdout).toBe("Nothing to do: 0 dead events.\n");
      expect(stderr).toMatch(
        /^evt_done is done\. Only dead events are discarded; esim-webhooks inbox purge /,
      );
    });
  });
});

describe("inbox give-up", () => {
  const giveUp = (...args: string[]) => inbox("give-up", "--reason", "the eSIM is gone", ...args);

  it("ends events that wait as dead with a reason, and leaves and counts those that a worker handles", async () => {
    await inMemory.put([entry("evt_new")]);
    const [lease] = await inMemory.take({ limit: 1, leaseMs: hourMs });
    const left = lease?.id === "evt_new" ? "evt_ready" : "evt_new";
    expect((await giveUp("--dry-run")).stdout).toBe("Would give up 1 ready event.\n");
    const { stdout, stderr } = await giveUp("--by", "ada", "--yes");
    expect(stdout).toBe("Given up, and dead now: 1 ready event.\n");
    expect(stderr).toContain("Left, since a worker handles it: 1 event.\n");
    expect((await inbox("show", left)).stdout).toMatch(
      /^error +Given up by ada: the eSIM is gone$[\s\S]*given up by ada, 0 attempts before$/m,
    );
    expect(JSON.parse((await giveUp("--yes", "--json")).stdout)).toEqual({
      ...{ action: "give-up", dryRun: false, events: 0, leased: 1 },
    });
  });

  it("needs a reason", async () => {
    expect((await inbox("give-up", "--yes")).code).toBe(2);
    expect((await inbox("give-up", "--reason", " ", "--yes")).stderr).toContain("--reason is empty.");
  });
});

describe("inbox discard", () => {
  it("deletes the matching dead events, and no others", async () => {
    const { stdout } = await inbox("discard", "--types", "esim.faulted,esim.lifecycle.*", "--yes");
    expect(stdout).toBe("Deleted: 1 dead event.\n");
    expect(
      ids(
        await inbox("list", ...["evt_old", "evt_dead", "evt_ready"].flatMap((id) => ["--id", id]), "--json"),
      ),
    ).toEqual(["evt_ready", "evt_dead"]);
  });
});

describe("inbox purge", () => {
  /** An hour later by the command line's clock: that of the inbox may be some ms ahead of it. */
  const purge = (...args: string[]) =>
    cli(["inbox", "purge", ...args, "--config", configOf("memory")], {
      ...at,
      now: () => Date.now() + hourMs,
    });

  it("deletes unhandled events past their retention too", async () => {
    const taken = await inMemory.take({ limit: 10, leaseMs: 60_000 });
    await inMemory.settle(taken.map((lease) => ({ ...lease, state: "unhandled" as const })));
    expect((await purge("--yes")).stdout).toBe("Deleted: 2 events past their retention.\n");
    expect(ids(await inbox("list", "--all", "--json"))).toEqual(["evt_dead", "evt_old"]);
  });

  it("deletes done events past their retention", async () => {
    expect((await purge("--dry-run")).stdout).toBe("Would delete 1 event past its retention.\n");
    expect((await purge("--yes")).stdout).toBe("Deleted: 1 event past its retention.\n");
    expect((await inbox("show", "evt_done")).code).toBe(3);
  });
});

describe("the inbox commands", () => {
  it("refuse a target that can only store events, and say what to use", async () => {
    const { cwd } = at;
    writeFileSync(join(cwd, "esim-webhooks.config.ts"), "export default { target: { put() {} } };");
    for (const command of [["list"], ["stats"], ["purge", "--yes"], ["retry", "--yes"], ["show", "evt_1"]]) {
      const { code, stdout, stderr } = await cli(["inbox", ...command], { cwd });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(
        /^Error \(not_an_inbox\): The target in \S+ can store events, but lacks the role "admin", which this command needs\. Use the tools of that queue/,
      );
    }
  });

  it("use the embedded inbox when nothing is configured, but do not create it", async () => {
    const missing = await cli(["inbox", "stats"], at);
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toContain(
      "Error (migration_missing): There is no inbox in .esim-webhooks. Name its folder with",
    );
    expect(existsSync(join(at.cwd, ".esim-webhooks"))).toBe(false);
    const dump = join(at.cwd, "empty.ndjson");
    writeFileSync(dump, "");
    await cli(["import", dump], at);
    expect(await cli(["inbox", "stats", "--exact"], at)).toMatchObject({
      code: 0,
      stdout: "The inbox is empty.\n",
      stderr: "",
    });
  });

  it("say what to name instead of a file that is given as a folder", async () => {
    writeFileSync(join(at.cwd, "file"), "");
    for (const command of [["serve"], ["inbox", "stats"]]) {
      const { code, stderr } = await cli([...command, "--data-dir", "file"], { cwd: at.cwd });
      expect(code).toBe(2);
      expect(stderr).toContain(
        "--data-dir file is a file, not a folder. The file of your own sqliteInbox is named with --from",
      );
    }
  });

  it("end with 1 when the database cannot be reached, and print no password", async () => {
    const env = { DATABASE_URL: "postgres://me:hunter2@127.0.0.1:9/db" };
    const { code, stdout, stderr } = await cli(["inbox", "stats"], { cwd: at.cwd, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Error (store_unavailable)");
    expect(stderr).not.toContain("hunter2");
  });
});

describe("inbox commands with --from", () => {
  it("use the inbox of one's own program, with any name of the file and any config", async () => {
    const { cwd } = at;
    const path = join(cwd, "hooks.db");
    const own = sqliteInbox({ path });
    const stored = await own.put([entry("evt_own")]);
    await own.close();
    expect(stored).toEqual(["stored"]);
    const elsewhere = { cwd, env: { ESIM_WEBHOOKS_DATA_DIR: "elsewhere" } };
    const on = (...args: string[]) =>
      cli(["inbox", ...args, "--from", "hooks.db", "--config", configOf("memory")], elsewhere);
    expect(ids(await on("list", "--json"))).toEqual(["evt_own"]);
    expect((await on("show", "evt_own")).stdout).toContain("esim.enabled");
    expect((await on("stats", "--exact")).stdout).toMatch(/esim\.enabled +1 /);
    expect((await on("retry", "--dry-run")).stdout).toBe("Nothing to do: 0 dead events.\n");
    expect((await on("show", "evt_none")).stderr).toBe(
      "There is no event evt_none in the inbox in hooks.db.\n",
    );
  });

  it("refuse what is no inbox, and leave it as it is", async () => {
    const { cwd } = at;
    const other = new DatabaseSync(join(cwd, "other.db"));
    other.exec("create table notes (text)");
    other.close();
    const before = readFileSync(join(cwd, "other.db"));
    const on = (...args: string[]) => cli(["inbox", "stats", ...args], { cwd });
    expect(await on("--from", "other.db")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("other.db does not have the tables of this version."),
    });
    expect(readFileSync(join(cwd, "other.db"))).toEqual(before);
    const folder = await on("--from", ".");
    expect(folder.stderr).toContain(
      ". is a folder. Name the folder of the embedded inbox with --data-dir, or its SQLite file with --from",
    );
    const none = await on("--from", "none.db");
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("There is no file none.db.") });
    expect(existsSync(join(cwd, "none.db"))).toBe(false);
    const both = await on("--from", "other.db", "--data-dir", "elsewhere");
    expect(both.stderr).toContain("--from and --data-dir both name an inbox.");
  });
});
