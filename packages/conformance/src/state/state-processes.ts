import assert from "node:assert/strict";
import { extname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { StateStore, StoredState } from "@esim-webhooks/core";
import type { OtherProcess, ProcessScenario } from "../base/other-process.ts";
import { newName, type Padded, padded, present } from "./state-context.ts";

/** The program of the child processes. */
export const stateScript: URL = new URL(`./state-process${extname(import.meta.url)}`, import.meta.url);

/** The scenario of child processes that write. */
export const concurrentStateWrites: ProcessScenario = [
  "loses no count when four processes write at the same time, accepts one of their concurrent writes, and keeps no process running that has closed it twice",
  async (start) => {
    const processes = await Promise.all([start(), start(), start(), start()]);
    const counted = newName();
    await Promise.all(processes.map((process) => process.call(["countUp", counted, 50])));
    const [stored] = await processes[0].call<StoredState>(["read", counted]);
    assert.equal(stored?.value, 200);

    const name = newName(); // has no value yet
    for (let round = 0; round < 20; round++) {
      const [before] = await processes[0].call<StoredState | null>(["read", name]);
      const version = before?.version ?? null;
      const writes = await Promise.all(
        processes.map((process, n) =>
          process.call<boolean>(
            ["write", name, [round, n, 0], version],
            ["write", name, [round, n, 1], version],
          ),
        ),
      );
      assert.equal(writes.flat().filter(Boolean).length, 1);
      const winner = writes.findIndex((answers) => answers.includes(true));
      const [after] = await processes[0].call<StoredState>(["read", name]);
      assert.deepEqual(after?.value, [round, winner, writes[winner]?.indexOf(true)]);
    }
    const codes = await Promise.all(processes.map((process) => process.end()));
    assert.deepEqual(codes, [0, 0, 0, 0]); // no handle was left open
  },
];

/** Kills a writing process several times. Expects a whole value each time, never older than the last one read. */
export async function assertStateSurvivesKills(
  state: StateStore,
  start: () => Promise<OtherProcess>,
  kills: number,
): Promise<void> {
  const name = newName();
  for (let kill = 0; kill < kills; kill++) {
    const before = (await state.read(name))?.version;
    const process = await start();
    process.call(["writeOn", name]).catch(() => {}); // rejects, since the process is killed before it answers
    while ((await state.read(name))?.version === before) await pause(1);
    await pause(Math.random() * 20);
    const seen = (await present(state, name)).value as Padded;
    await process.kill();
    const left = (await present(state, name)).value as Padded;
    assert.ok(left.count >= seen.count, `${left.count} is left, and ${seen.count} was read before`);
    assert.deepEqual(left, padded(left.count));
  }
}
