import assert from "node:assert/strict";
import { extname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { OtherProcess, ProcessScenario } from "../base/other-process.ts";
import { countIn, countUp, newName, type OpenKeys, present, withKeys } from "./key-context.ts";

/** The program of the child processes. */
export const keyScript: URL = new URL(`./key-process${extname(import.meta.url)}`, import.meta.url);

interface Counted {
  readonly count: number;
  readonly version: string | null;
}

/** The scenario of several processes that write. */
export const concurrentKeyWrites: ProcessScenario = [
  "loses no write when four processes write at the same time, accepts one of their concurrent writes, and keeps no process running that has closed them",
  async (start) => {
    const processes = await Promise.all([start(), start(), start(), start()]);
    const counted = newName();
    await Promise.all(processes.map((process) => process.call(["countUp", counted, 10])));
    const [stored] = await processes[0].call<Counted>(["read", counted]);
    assert.equal(stored?.count, 40);

    const name = newName();
    for (let round = 0; round < 10; round++) {
      const [before] = await processes[0].call<Counted>(["read", name]);
      const version = before?.version ?? null;
      const writes = await Promise.all(
        processes.map((process, n) => process.call<boolean>(["write", name, 10 * round + n, version])),
      );
      assert.equal(writes.flat().filter(Boolean).length, 1);
      const [after] = await processes[0].call<Counted>(["read", name]);
      assert.equal(after?.count, 10 * round + writes.flat().indexOf(true));
    }
    const codes = await Promise.all(processes.map((process) => process.end()));
    assert.deepEqual(codes, [0, 0, 0, 0]); // no handle was left open
  },
];

/**
 * Kills a writing process several times. Expects a whole record each time, never older than the last one read, and that nothing
 * holds up the next write. A server may still carry out the last write of a dead process, but no more.
 */
export async function assertKeysSurviveKills(
  open: OpenKeys,
  start: () => Promise<OtherProcess>,
  kills: number,
): Promise<void> {
  const name = newName();
  await withKeys(open, name, async (keys) => {
    await countUp(keys);
    for (let kill = 0; kill < kills; kill++) {
      const before = await present(keys);
      const process = await start();
      process.call(["writeOn", name]).catch(() => {}); // rejects, since the process is killed before it answers
      while ((await present(keys)).version === before.version) await pause(1);
      await pause(Math.random() * 20);
      const seen = countIn((await present(keys)).record);
      await process.kill();
      const left = await present(keys);
      assert.ok(countIn(left.record) >= seen, `${countIn(left.record)} is left, and ${seen} was read before`);
      if (!(await keys.write(left.record, left.version))) {
        const last = await present(keys);
        assert.ok(
          countIn(last.record) > countIn(left.record),
          "the write was refused, and nothing was written",
        );
        assert.equal(await keys.write(last.record, last.version), true);
      }
      await keys.load();
    }
  });
}
