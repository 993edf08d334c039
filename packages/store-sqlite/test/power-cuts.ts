import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished } from "vitest";
import { runCommand } from "../../../test/run.ts";
import { program } from "../../../test/servers/binaries.ts";
import { readTrace, straceArguments } from "./disk-trace.ts";
import { createTracedDisk } from "./power-cut.ts";
import { openShop } from "./shop.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const puts = 400;
const bodyBytes = 72_000; // so that the log is checkpointed meanwhile

/** Cuts the power again and again, each time that this number of further events was acknowledged, and expects all of them afterwards. */
export async function expectAllAfterCuts(cutEvery: number): Promise<void> {
  const { path: folder, remove } = temporaryFolder();
  onTestFinished(remove);
  const path = join(folder, "data", "events.db");
  mkdirSync(dirname(path));
  openShop(path).close();
  const before = readFileSync(path);
  const trace = await traceOf(folder, path, puts);
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
      const ids = idsIn(files, path, join(folder, `cut_${++cuts}`));
      expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    }
  }
  expect(acknowledged.length).toBe(puts);
  expect(wasCheckpointed).toBe(true);
  expect(cuts).toBe((3 * puts) / cutEvery);
}

/** The system calls of a process that runs a script next to this file. */
export async function traceOfScript(
  folder: string,
  script: string,
  args: readonly string[],
  node = process.execPath,
): Promise<Buffer> {
  const strace = program("strace", "strace", "").path;
  const log = join(folder, "trace");
  const file = join(import.meta.dirname, script);
  const command = [node, "--conditions=@esim-webhooks/source", file, ...args];
  await runCommand(strace, [...straceArguments, "-o", log, ...command]).ended;
  return readFileSync(log);
}

/** The system calls of a process that puts this number of events. */
export function traceOf(folder: string, path: string, events: number): Promise<Buffer> {
  return traceOfScript(folder, "fire-process.ts", [path, "p", "10", String(bodyBytes), String(events)]);
}

/** What is in the database whose files these are. */
export function idsIn(files: ReadonlyMap<string, Buffer>, path: string, copy: string): Set<string> {
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
