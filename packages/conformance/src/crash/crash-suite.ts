import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { extname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type ProcessOptions, withProcesses } from "../base/other-process.ts";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { OpenKeys } from "../keys/key-context.ts";
import { assertKeysSurviveKills, concurrentKeyWrites, keyScript } from "../keys/key-processes.ts";
import { type OpenState, withState } from "../state/state-context.ts";
import { assertStateSurvivesKills, concurrentStateWrites, stateScript } from "../state/state-processes.ts";
import { type Line, violations } from "./crash-history.ts";

/** The parts to test: for each, the URL of a module whose default export opens it, on the same data in each process. */
export interface CrashSuiteOptions {
  /** The module of an `OpenInbox`. If it has no role `queue`, only its `put` is tested. */
  readonly inbox?: string;
  /** Whether the inbox keeps the order in lanes. Default false. */
  readonly ordered?: boolean;
  /** The module of an `OpenStore`. */
  readonly store?: string;
  /** The module of an `OpenState`. */
  readonly state?: string;
  /** The module of an `OpenKeys`. */
  readonly keys?: string;
  /** Arguments of Node.js for the processes of the suite. Default: none. */
  readonly execArgv?: readonly string[];
  /** How many processes are killed in each test. Default: 20. */
  readonly kills?: number;
}

const script = fileURLToPath(new URL(`./crash-process${extname(import.meta.url)}`, import.meta.url));
const atOnce = 3;

/**
 * Kills processes (SIGKILL), each at another moment of its life, while they put, take, settle, claim, complete and write at the same
 * time; some hold a lease for longer than it lasts. Then nothing that was acknowledged may be lost, nothing done may have run again, no id may have
 * had two owners, and no late owner may have changed anything. Four processes also write states and keys concurrently: one write wins
 * each time. Takes some seconds for each option. Runs under any test runner with `describe` and `it`, passed or global.
 */
export function crashSuite(name: string, options: CrashSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { inbox, ordered = false, store, state, keys, execArgv = [], kills = 20 } = options;
  const opener = async <Open>(module: string) => ((await import(module)) as { default: Open }).default;
  describe(`crashSuite: ${name}`, () => {
    if (inbox !== undefined)
      it("loses no acknowledged event, and runs no event again that is done, when its processes are killed", () =>
        assertSurvivesKills({ kind: "inbox", module: inbox, execArgv, kills, ordered }));
    if (store !== undefined)
      it("forgets no id that is done, and has one owner for each, when its processes are killed", () =>
        assertSurvivesKills({ kind: "store", module: store, execArgv, kills, ordered: false }));
    if (state !== undefined) {
      const processes = { script: stateScript, module: state, execArgv };
      const [sentence, run] = concurrentStateWrites;
      it(sentence, () => withProcesses(processes, run));
      it("has the old value or the new one, when its processes are killed while they write", async () => {
        const open = await opener<OpenState>(state);
        await withState(open, {}, (own) =>
          withProcesses(processes, (start) => assertStateSurvivesKills(own, start, kills)),
        );
      });
    }
    if (keys !== undefined) {
      const processes = { script: keyScript, module: keys, execArgv };
      const [sentence, run] = concurrentKeyWrites;
      it(sentence, () => withProcesses(processes, run));
      it("has the old keys or the new ones, and nothing waits for the dead, when its processes are killed while they write", async () => {
        const open = await opener<OpenKeys>(keys);
        await withProcesses(processes, (start) => assertKeysSurviveKills(open, start, kills));
      });
    }
  });
}

interface Killing extends Pick<ProcessOptions, "module" | "execArgv"> {
  readonly kind: "inbox" | "store";
  readonly kills: number;
  readonly ordered: boolean;
}

async function assertSurvivesKills({ kind, module, execArgv, kills, ordered }: Killing): Promise<void> {
  const run = randomUUID();
  const lines: Line[] = [];
  let started = 0;

  /** Starts a process, and collects its lines. Calls `onLine` after each line. */
  function start(mode: "work" | "drain", onLine: () => void = () => {}) {
    started += 1;
    const child = spawn(process.execPath, [...execArgv, script, module, kind, run, `p${started}`, mode], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const read = createInterface(child.stdout).on("line", (line) => {
      const whole = parsed(line);
      if (whole !== undefined) lines.push(whole);
      onLine();
    });
    return { child, ended: Promise.all([once(child, "exit"), once(read, "close")]) };
  }

  /** Starts a process, and kills it once it has written some lines. */
  async function killOne(): Promise<void> {
    let left = 5 + Math.floor(Math.random() * 150);
    const { child, ended } = start("work", () => {
      left -= 1;
      if (left === 0) child.kill("SIGKILL");
    });
    await ended;
    assert.equal(child.signalCode, "SIGKILL", "A process ended by itself. Its error is above.");
  }

  let left = kills;
  const killing = Array.from({ length: atOnce }, async () => {
    while (left > 0) {
      left -= 1;
      await killOne();
    }
  });
  await Promise.all(killing);

  const { child, ended } = start("drain");
  const ids = new Set(lines.flatMap((line) => (line.is === "stored" ? line.ids : [])));
  assert.ok(ids.size > kills, "the processes did too little before they were killed");
  child.stdin.end([...ids].join("\n"));
  await ended;
  assert.equal(child.exitCode, 0, "The last process failed. Its error is above.");
  const found = violations(lines, { ordered });
  assert.deepEqual(
    found.slice(0, 10),
    [],
    `${found.length} violations, and the lines of the first:\n${about(found[0], lines)}`,
  );
}

/** A killed process may have written a part of its last line. */
function parsed(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}

/** Returns the lines about the ids that a violation names. */
function about(violation: string | undefined, lines: readonly Line[]): string {
  const named = (line: Line) =>
    (line.is === "stored" ? line.ids : [line.id]).some((id) => violation?.includes(id));
  return lines
    .filter(named)
    .sort((a, b) => a.at - b.at)
    .map((line) => JSON.stringify(line))
    .join("\n");
}
