import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { cli, type Ended, folder, jsonLines } from "../cli.ts";
import { deliveryRecord } from "../import/dump.ts";
import { openedAt, storeAt } from "../stored.ts";

let cwd: string;
beforeEach(() => {
  cwd = folder();
});
const inbox = (...args: string[]): Promise<Ended> => cli(["inbox", ...args], { cwd });
const opened = () => openedAt(cwd);

describe("--esim", () => {
  beforeEach(async () => {
    await storeAt(cwd, [
      entry("a1", { esim: "esim-a" }),
      entry("a2", { esim: "esim-a" }),
      entry("b1", { esim: "esim-b" }),
    ]);
    const own = opened();
    const taken = await own.take({ limit: 3, leaseMs: 60_000 });
    await own.settle(taken.map((one) => ({ ...one, state: "dead" as const, error: "no" })));
  });

  it("selects the events of one eSIM in list, errors, retry and discard", async () => {
    expect(
      jsonLines(await inbox("list", "--esim", "esim-a", "--json"))
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["a1", "a2"]);
    expect(jsonLines(await inbox("errors", "--esim", "esim-a", "--json"))).toMatchObject([{ count: 2 }]);
    expect((await inbox("discard", "--esim", "esim-b", "--yes")).stdout).toBe("Deleted: 1 dead event.\n");
    const retried = await inbox("retry", "--esim", "esim-a", "--yes");
    expect(retried.stdout).toBe("Made ready again: 2 dead events.\n");
    expect(retried.stderr).toContain("esim-webhooks inbox list --esim esim-a\n");
    expect(await inbox("list", "--esim", "esim-c")).toMatchObject({ stderr: "No event matches.\n" });
  });
});

describe("inbox erase", () => {
  const reference = "730155284096617302";
  beforeEach(async () => {
    await storeAt(cwd, [
      entry("a1", { esim: reference }),
      entry("a2", { esim: reference }),
      entry("b1", { esim: "esim-b" }),
    ]);
    const own = opened();
    const [first] = await own.take({ limit: 1, leaseMs: 60_000 });
    if (first) await own.settle([{ ...first, state: "done" }]);
  });

  it("says how many events there are, needs --yes without a terminal, and changes nothing in a dry run", async () => {
    const { code, stderr } = await inbox("erase", "--esim", reference);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "inbox erase asks before it changes events, but there is no terminal to ask on.",
    );
    expect(await inbox("erase", "--esim", reference, "--dry-run")).toMatchObject({
      code: 0,
      stdout: "Would erase the personal data of 2 events of this eSIM (1 ready, 1 done).\n",
      stderr: "",
    });
    expect(await opened().count({ subject: reference })).toBe(2);
  });

  it("erases them, says what it has not reached, and prints the reference nowhere", async () => {
    const { code, stdout, stderr } = await inbox("erase", "--esim", reference, "--yes");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Erased: the personal data of 2 events \(1 ready, 1 done\)\.\nNot reached\. /);
    expect(stdout).toMatch(
      /^ {2}Old versions .* in the database's own files.*: see docs\/personal-data\.md of/m,
    );
    expect(stdout).toMatch(/^ {2}Backups and copies of the inbox\.$/m);
    expect(stdout).not.toContain(reference);
    expect((await inbox("show", "a1")).stdout).toMatch(/^erased +on \S+ \S+Z: its personal data is gone$/m);
    expect(await opened().count({ state: "ready" })).toBe(1);
    const again = await inbox("erase", "--esim", reference, "--yes", "--json");
    expect(jsonLines(again)).toEqual([
      {
        action: "erase",
        dryRun: false,
        events: { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 },
        notReached: expect.any(Array),
      },
    ]);
  });
});

it("import --force does not bring the body of an erased event back", async () => {
  const records = ["a1", "b1"].map((id) => deliveryRecord(id));
  const dump = join(cwd, "dump.ndjson");
  writeFileSync(dump, records.join(""));
  await storeAt(cwd, []);
  const imported = await cli(["import", dump, "--trust-unsigned"], { cwd });
  expect(imported.code).toBe(0);
  const own = opened();
  const get = (id: string) => own.get({ source: "default", id });
  const reference = (await get("a1"))?.subject ?? "";
  expect((await inbox("erase", "--esim", reference, "--yes")).stdout).toMatch(/^Erased: .* 2 events/);
  writeFileSync(dump, records.join("") + deliveryRecord("new"));
  const forced = await cli(["import", dump, "--trust-unsigned", "--force", "--json"], { cwd });
  expect(jsonLines(forced)).toMatchObject([{ forced: 0, ledger: { read: 3, stored: 1 } }]);
  expect([(await get("a1"))?.body, (await get("b1"))?.body]).toEqual([null, null]);
  expect((await get("new"))?.subject).toBe(reference);
});

it("inbox erase warns once if another process keeps the log of the file from being emptied", async () => {
  await storeAt(cwd, [entry("a1", { esim: "esim-a" })]);
  await opened().put([entry("a2", { type: "esim.faulted" })]); // so that the log is there
  const reader = new DatabaseSync(join(cwd, ".esim-webhooks/events.db"));
  reader.exec("begin");
  reader.prepare("select id from esim_webhooks_event").all();
  const { code, stderr } = await inbox("erase", "--esim", "esim-a", "--yes");
  reader.close();
  expect(code).toBe(0);
  expect(stderr.match(/The log of the file may still hold what was erased/g)).toHaveLength(1);
});

describe("an inbox whose engine cannot do it", () => {
  beforeEach(() => {
    const config = `import { memoryInbox } from "@esim-webhooks/core/testing";
      const inbox = memoryInbox();
      const capabilities = { ...inbox.capabilities, pauses: "all", filters: ["state", "ids"] };
      export default { target: { ...inbox, capabilities } };`;
    writeFileSync(join(cwd, "esim-webhooks.config.mjs"), config);
  });

  it("refuses to pause single types, and to find events by their eSIM, but erases them", async () => {
    const paused = await inbox("pause", "--types", "esim.faulted", "--reason", "x");
    expect(paused.code).toBe(2);
    expect(paused.stderr).toMatch(
      /The target in .* pauses all types or none, so it does not take --types\. Leave --types out, /,
    );
    expect((await inbox("pause", "--reason", "x")).code).toBe(0);
    const listed = await inbox("list", "--esim", "esim-a");
    expect(listed.code).toBe(2);
    expect(listed.stderr).toMatch(
      /cannot find events by their eSIM, so it does not take --esim\. Name the events with --id, /,
    );
    expect((await inbox("erase", "--esim", "esim-a", "--yes")).stdout).toMatch(/^Erased: .* 0 events\.$/m);
  });
});
