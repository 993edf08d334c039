import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Run, runCommand } from "../../test/run.ts";
import type { Random } from "../simulation/random.ts";
import type { Task } from "./engines.ts";

export type Role = "receive" | "work" | "operate";

/** The words before a command that run it somewhere else, as in a network namespace. */
export type Prefix = readonly string[];

/** The processes of a fleet, which faults strike. */
export interface Fleet {
  /** How many faults have struck. */
  faults(): number;
  /** How many times a worker was interrupted, so that its events may be handled again. */
  interruptions(): number;
  /** Counts a fault of the server or the network, which interrupts that many workers. */
  strike(workers: 1 | 2): void;
  /** Kills a process of this role, and starts it again. */
  kill(role: Role): Promise<void>;
  /** Stops a process of this role for so long, and has it continue. */
  freeze(role: Role, ms: number): Promise<void>;
  /** Resolves once the receivers have acknowledged every event. Rejects if one ended otherwise. */
  delivered(): Promise<void>;
  /** Every line that a process has said so far. */
  said(): readonly string[];
  /** Ends the processes of this role. */
  end(role: Role): Promise<void>;
  /** Ends all other processes, and resolves to every line that a process has said. */
  stop(): Promise<readonly string[]>;
  /** Kills all processes. */
  close(): void;
}

interface Member {
  readonly role: Role;
  readonly prefix: Prefix;
  run: Run;
}

const deliveredWithinMs = 300_000;
const stopsWithinMs = 120_000;

/** Starts two receivers, two workers and the operators. The n-th of a role is started with the n-th of the prefixes. */
export async function startFleet(
  task: Task,
  roles: readonly Role[],
  random: Random,
  prefixes: readonly Prefix[] = [[], []],
): Promise<Fleet> {
  let [faults, interruptions] = [0, 0];
  const runs: Run[] = [];
  const start = (role: Role, prefix: Prefix): Run => {
    const program = join(import.meta.dirname, "process.ts");
    const node = [
      process.execPath,
      "--conditions=@esim-webhooks/source",
      program,
      role,
      JSON.stringify({ ...task, seed: `${task.seed} ${runs.length}` }), // each process has random numbers of its own
    ];
    const [command = "", ...args] = [...prefix, ...node];
    const run = runCommand(command, args);
    runs.push(run);
    return run;
  };
  const members: Member[] = roles.flatMap((role) =>
    prefixes.map((prefix) => ({ role, prefix, run: start(role, prefix) })),
  );
  await Promise.all(members.map(({ run }) => run.line(/^working/)));
  function struck(role: Role): Member {
    faults += 1;
    if (role === "work") interruptions += 1;
    return random.pick(members.filter((member) => member.role === role));
  }

  async function end(ended: readonly Member[]): Promise<void> {
    for (const { run } of ended) run.child.kill("SIGTERM");
    await within(stopsWithinMs, "stops", Promise.all(ended.map(({ run }) => run.ended)));
  }

  const said = () => runs.flatMap(({ output }) => output().split("\n"));

  return {
    faults: () => faults,
    interruptions: () => interruptions,
    strike(workers) {
      faults += 1;
      interruptions += workers;
    },
    async kill(role) {
      const member = struck(role);
      member.run.child.kill("SIGKILL");
      await member.run.ended;
      member.run = start(role, member.prefix);
      await member.run.line(/^working/);
    },
    async freeze(role, ms) {
      const { child } = struck(role).run;
      child.kill("SIGSTOP");
      await pause(ms);
      child.kill("SIGCONT");
    },
    async delivered() {
      const receivers = members.filter(({ role }) => role === "receive").map(({ run }) => run.ended);
      const ended = await within(deliveredWithinMs, "acknowledges every event", Promise.all(receivers));
      const failed = ended.find(({ code }) => code !== 0);
      if (failed !== undefined) throw new Error(`A receiver ended with ${failed.code}: ${failed.output}`);
    },
    said,
    end: (role) => end(members.filter((member) => member.role === role)),
    async stop() {
      await end(members);
      return said();
    },
    close() {
      for (const { child } of runs) {
        child.kill("SIGCONT");
        child.kill("SIGKILL");
      }
    },
  };
}

/** Rejects with a sentence when the promise has not been kept in time. */
export async function within<T>(ms: number, deed: string, promise: Promise<T>): Promise<T> {
  const late = new AbortController();
  const limit = pause(ms, undefined, { signal: late.signal }).then(() => {
    throw new Error(`The fleet ${deed} later than ${ms / 1000} s after its faults.`);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    late.abort();
    limit.catch(() => {});
  }
}
