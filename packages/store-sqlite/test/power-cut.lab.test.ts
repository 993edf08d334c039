import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { oldestNode, withoutOldestNode } from "../../../test/oldest-node.ts";
import { runNode } from "../../../test/run.ts";
import { hasWalResetBug } from "../src/database/journal.ts";
import { readTrace } from "./disk-trace.ts";
import { createTracedDisk } from "./power-cut.ts";
import { expectAllAfterCuts, idsIn, traceOf, traceOfScript } from "./power-cuts.ts";
import { openShop } from "./shop.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
afterAll(folder.remove);

const isWithoutLog = hasWalResetBug(process.versions["sqlite"] ?? "");

it("has every acknowledged event after a power cut, whichever of the writes that were not synced got through", () =>
  expectAllAfterCuts(25));

it("has the name of a new file on the disk before it acknowledges an event, no matter which process made its folders", async () => {
  const data = join(folder.path, "made");
  mkdirSync(data); // as the command line does
  const synced = new Set<string>();
  for (const event of readTrace(await traceOf(folder.path, join(data, "here", "too", "events.db"), 10))) {
    if (event.kind === "synced") synced.add(event.file);
    if (event.kind === "output" && event.text.startsWith("acknowledged")) break;
  }
  const folders = [join(data, "here", "too"), join(data, "here"), data, folder.path];
  expect(folders.filter((path) => !synced.has(path))).toEqual([]);
});

it.skipIf(isWithoutLog)(
  "has an event after a power cut that a process wrote and did not sync, once another one has called it stored",
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
    for (const event of readTrace(await traceOfScript(folder.path, "put-process.ts", [path, "msg_1"]))) {
      disk.apply(event);
      if (event.kind === "output" && event.text.startsWith("already_stored")) {
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

it("without a log, syncs that the journal of a killed process is gone before it calls its event stored", async (context) => {
  context.skip(withoutOldestNode !== undefined, withoutOldestNode);
  const path = join(folder.path, "without-log.db");
  const synced = new Set<string>();
  let answered = "";
  for (const event of readTrace(
    await traceOfScript(folder.path, "duplicate-process.ts", [path, "msg_1"], oldestNode),
  )) {
    if (event.kind === "output" && event.text.startsWith("stored")) synced.clear(); // by the other process, which is killed then
    if (event.kind === "synced") synced.add(event.file);
    if (event.kind === "output") answered = event.text;
    if (answered.startsWith("already_stored")) break;
  }
  expect(answered).toBe("already_stored\n");
  expect(synced).toContain(folder.path);
});
