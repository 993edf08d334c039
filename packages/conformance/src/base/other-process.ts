import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The name of an operation of the process, and its arguments. */
export type Call = readonly [operation: string, ...args: unknown[]];

/** A child process with the store, state or keys under test. It answers calls over its standard streams. */
export interface OtherProcess {
  /** Makes the calls concurrently. Resolves to their results. */
  call<Result>(...calls: readonly Call[]): Promise<Result[]>;
  /** Lets the process close its store. Resolves to its exit code once it has ended by itself. */
  end(): Promise<number | null>;
  /** Kills the process (SIGKILL). Resolves once it has ended. */
  kill(): Promise<void>;
}

/** A scenario with several processes on the same data. */
export type ProcessScenario = readonly [
  sentence: string,
  run: (start: () => Promise<OtherProcess>) => Promise<void>,
];

/** The program of a process: a script of the suite. It opens what is under test with the default export of `module`. */
export interface ProcessOptions {
  readonly script: URL;
  readonly module: string;
  readonly execArgv: readonly string[];
}

/** Runs a scenario, and then kills those of its processes that still run. */
export async function withProcesses(options: ProcessOptions, run: ProcessScenario[1]): Promise<void> {
  const started: OtherProcess[] = [];
  try {
    await run(async () => {
      const process = await startProcess(options);
      started.push(process);
      return process;
    });
  } finally {
    await Promise.all(started.map((process) => process.kill()));
  }
}

async function startProcess({ script, module, execArgv }: ProcessOptions): Promise<OtherProcess> {
  const child = spawn(process.execPath, [...execArgv, fileURLToPath(script), module], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const answer = async () => {
    const line = await lines.next();
    assert.equal(line.done, false, "The process ended before it answered.");
    return JSON.parse(line.value);
  };
  await answer(); // the process is ready
  return {
    async call(...calls) {
      child.stdin.write(`${JSON.stringify(calls)}\n`);
      return answer();
    },
    async end() {
      child.stdin.end();
      const [code] = await exited;
      return code;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** The child's side of `OtherProcess`: answers each line of calls, and calls `close`, twice, at the end of standard input. */
export function answerCalls(
  operations: Readonly<Record<string, (...args: never[]) => unknown>>,
  close: () => Promise<void>,
): void {
  const lines = createInterface(process.stdin);
  lines.on("line", async (line) => {
    const calls = JSON.parse(line) as [name: string, ...args: never[]][];
    const results = await Promise.all(calls.map(([name, ...args]) => operations[name]?.(...args)));
    process.stdout.write(`${JSON.stringify(results.map((result) => result ?? null))}\n`);
  });
  lines.on("close", async () => {
    await close();
    await close();
  });
  process.stdout.write("[]\n");
}
