import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { oldestNode, withoutOldestNode } from "../../../test/oldest-node.ts";
import { runCommand, runNode } from "../../../test/run.ts";
import { program } from "../../../test/servers/binaries.ts";
import { hasWalResetBug } from "../src/database/wal-reset-bug.ts";
import { readTrace, straceArguments } from "./disk-trace.ts";
import { createTracedDisk } from "./power-cut.ts";
import { openShop } from "./shop.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
afterAll(folder.remove);

const puts = 400;
const bodyBytes = 72_000; // so that the log is checkpointed meanwhile
const cutEvery = 25;

const isWithoutLog = hasWalResetBug(process.versions["sqlite"] ?? "");

/** The system calls of a process that runs a script beside this file. */
async function traceOfScript(
  script: string,
  args: readonly string[],
  node = process.execPath,
): Promise<string> {
  const strace = program("strace", "strace", "").path;
  const log = join(folder.path, "trace");
  const file = join(import.meta.dirname, script);
  const command = [node, "--conditions=@esim-webhooks/source", file, ...args];
  await runCommand(strace, [...straceArguments, "-o", log, ...command]).ended;
  return readFileSync(log, "utf8");
}

/** The system calls of a process that puts so many events. */
function traceOf(path: string, events: number): Promise<string> {
  return traceOfScript("fire-process.ts", [path, "p", "10", String(bodyBytes), String(events)]);
}

/** What is in the database whose files these are. */
function idsIn(files: ReadonlyMap<string, Buffer>, path: string, copy: string): Set<string> {
  mkdirSync(copy);
  for (const [file, content] of files) {
    if (file.startsWith(path) && !file.endsWith("-shm")) writeFileSync(join(copy, basename(file)), content);
  }
  const database = new DatabaseSync(join(copy, basename(path)));
  expect(database.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  const rows = database.prepare("select id from esim_webhooks_event").all();
  database.close();
  rmSync(copy, { recursive: true });
  return new Set(rows.map((row) => String(row["id"])));
}

it("has every acknowledged event after a power cut, whichever of the writes that were not synced got through", async () => {
  const path = join(folder.path, "data", "events.db");
  mkdirSync(dirname(path));
  openShop(path).close();
  const before = readFileSync(path);
  const trace = await traceOf(path, puts);
  const disk = createTracedDisk(new Map([[path, before]]));
  const acknowledged: string[] = [];
  let checkpointed = false;
  let wasCheckpointed = false; // and events were acknowledged after that
  let cuts = 0;
  for (const event of readTrace(trace)) {
    disk.apply(event);
    if (event.kind === "synced" && event.file === path) checkpointed ||= acknowledged.length > 0;
    if (event.kind !== "output") continue;
    wasCheckpointed ||= checkpointed;
    acknowledged.push(...[...event.text.matchAll(/^acknowledged (\S+)$/gm)].map(([, id = ""]) => id));
    if (acknowledged.length % cutEvery !== 0) continue;
    for (const survives of [() => false, () => true, () => Math.random() < 0.5]) {
      const files = disk.afterCut(survives);
      const ids = idsIn(files, path, join(folder.path, `cut_${++cuts}`));
      expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    }
  }
  expect(acknowledged.length).toBe(puts);
  expect(wasCheckpointed).toBe(true);
  expect(cuts).toBe((3 * puts) / cutEvery);
});

it("has the name of a new file on the disk before it acknowledges an event, whoever made the folders that it is in", async () => {
  const data = join(folder.path, "made");
  mkdirSync(data); // as the command line does
  const synced = new Set<string>();
  for (const event of readTrace(await traceOf(join(data, "here", "too", "events.db"), 10))) {
    if (event.kind === "synced") synced.add(event.file);
    if (event.kind === "output" && event.text.startsWith("acknowledged")) break;
  }
  const folders = [join(data, "here", "too"), join(data, "here"), data, folder.path];
  expect(folders.filter((path) => !synced.has(path))).toEqual([]);
});

it.skipIf(isWithoutLog)(
  "has an event after a power cut that a process wrote and did not sync, once another one has called it a duplicate",
  async () => {
    const path = join(folder.path, "killed.db");
    const database = openShop(path);
    database.run("pragma journal_mode = wal");
    database.close();
    await runNode(["packages/store-sqlite/test/put-process.ts", path, "msg_1"]).ended;
    const disk = createTracedDisk(new Map([[path, readFileSync(path)]]));
    const log = `${path}-wal`;
    disk.apply({ kind: "write", file: log, offset: 0, data: readFileSync(log) }); // as it is if the kill came before the sync
    let answered = false;
    for (const event of readTrace(await traceOfScript("put-process.ts", [path, "msg_1"]))) {
      disk.apply(event);
      if (event.kind === "output" && event.text.startsWith("duplicate")) {
        answered = true;
        break;
      }
    }
    expect(answered).toBe(true);
    expect(
      idsIn(
        disk.afterCut(() => false),
        path,
        join(folder.path, "cut_killed"),
      ),
    ).toContain("msg_1");
  },
);

it("without a log, syncs that the journal of a killed process is gone before it calls its event a duplicate", async (context) => {
  context.skip(withoutOldestNode !== undefined, withoutOldestNode);
  const path = join(folder.path, "without-log.db");
  const synced = new Set<string>();
  let answered = "";
  for (const event of readTrace(await traceOfScript("duplicate-process.ts", [path, "msg_1"], oldestNode))) {
    if (event.kind === "output" && event.text.startsWith("stored")) synced.clear(); // by the other process, which is killed then
    if (event.kind === "synced") synced.add(event.file);
    if (event.kind === "output") answered = event.text;
    if (answered.startsWith("duplicate")) break;
  }
  expect(answered).toBe("duplicate\n");
  expect(synced).toContain(folder.path);
});
