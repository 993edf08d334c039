import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EngineName, engineNames } from "../engines.ts";
import { startEngine } from "./engines.ts";
import { createFakeClock } from "./faketime.ts";
import { clockFaults } from "./faults.ts";
import { rotationFaults, tryRotation } from "./rotation.ts";
import { type TrialResult, tryFault } from "./trial.ts";

/**
 * Runs fleets of processes through clock faults, by libfaketime. Resolves to whether every promise was kept.
 * @param engine a part of the name of an engine, or of `rotation`
 * @param fault a part of the name of a fault
 */
export async function runClocks(engine = "", fault = ""): Promise<boolean> {
  const tried = engineNames.filter((name) => name.includes(engine));
  const hasRotations = "rotation".includes(engine);
  if (tried.length === 0 && !hasRotations) {
    console.error(`Name a part of one of these: ${engineNames.join(", ")}, rotation.`);
    return false;
  }
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-clocks-"));
  chmodSync(folder, 0o755); // the servers run as another user
  try {
    const kept = await Promise.all(tried.map((name) => runEngine(name, fault, folder)));
    if (hasRotations) kept.push(await runRotations(fault, folder));
    return !kept.includes(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    removeSharedMemory();
  }
}

async function runEngine(engineName: EngineName, part: string, folder: string): Promise<boolean> {
  const serverClock = createFakeClock(folder, engineName);
  const engine = await startEngine[engineName](serverClock);
  let isKept = true;
  try {
    for (const [number, fault] of clockFaults.entries()) {
      if (!fault.name.includes(part) || !fault.engines.includes(engineName)) continue;
      const setup = { engineName, engine, serverClock, folder };
      isKept = (await report(`${engineName}, ${fault.name}`, () => tryFault(setup, fault, number))) && isKept;
    }
  } finally {
    await engine.close();
  }
  return isKept;
}

async function runRotations(part: string, folder: string): Promise<boolean> {
  let isKept = true;
  for (const [number, fault] of rotationFaults.entries()) {
    if (!fault.name.includes(part)) continue;
    const trial = () => tryRotation(join(folder, `rotation-${number}`), fault);
    isKept = (await report(`rotation, ${fault.name}`, trial)) && isKept;
  }
  return isKept;
}

/** Runs a trial and prints its line. Resolves to whether it kept every promise. */
async function report(name: string, trial: () => Promise<TrialResult>): Promise<boolean> {
  const startedAt = performance.now();
  const failed = (error: Error): TrialResult => ({ broken: [String(error.stack)], seen: "it ended early" });
  const { broken, seen } = await trial().catch(failed);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${name}: ${broken.length} broken promises (${seen}; ${seconds} s)`);
  for (const sentence of broken) console.log(`  ${sentence}`);
  return broken.length === 0;
}

/** Removes what libfaketime leaves of processes that were killed. */
function removeSharedMemory(): void {
  const shared = "/dev/shm";
  for (const name of existsSync(shared) ? readdirSync(shared) : []) {
    const [, pid] = /faketime_s(?:hm|em)_(\d+)$/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(shared, name), { force: true });
  }
}
