import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { Readable, Writable } from "node:stream";
import { type CliProcess, createContext } from "../src/program/context.ts";
import { run } from "../src/run.ts";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line that runs. */
export interface Begun {
  readonly ended: Promise<Ended>;
  /** Resolves with the first match in its output on either stream. Rejects if it ends without one. */
  written(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends it a signal. */
  kill(signal: NodeJS.Signals): void;
}

export interface RunHere {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Its standard input. */
  readonly input?: string | Uint8Array;
  /** Its clock. Default: the machine's. */
  readonly now?: () => number;
}

/** What a run writes to its standard streams. */
export function collectOutput() {
  const texts = { stdout: "", stderr: "" };
  const looks = new Set<() => void>();
  return {
    texts,
    add: (name: keyof typeof texts) => (chunk: Buffer | string) => {
      texts[name] += String(chunk);
      for (const look of looks) look();
    },
    written:
      (ended: Promise<Ended>): Begun["written"] =>
      (pattern) =>
        new Promise((resolve, reject) => {
          const look = () => {
            const match = pattern.exec(`${texts.stdout}\n${texts.stderr}`);
            if (match === null) return;
            looks.delete(look);
            resolve(match);
          };
          looks.add(look);
          look();
          void ended.then(
            () => reject(new Error(`It ended before it wrote ${pattern}:\n${texts.stdout}\n${texts.stderr}`)),
            reject,
          );
        }),
  };
}

/** The run that code belongs to: its config reads `process.env`, and its warnings come from the process. */
const runs = new AsyncLocalStorage<RunHere & { readonly events: EventEmitter }>();

const variables = process.env;
process.env = new Proxy(variables, {
  get: (target, name: string) => (runs.getStore()?.env ?? target)[name],
  set: (target, name: string, value: string) => {
    target[name] = value;
    return true;
  },
  has: (target, name: string) => name in (runs.getStore()?.env ?? target),
});

const warned = process.listeners("warning");
process.removeAllListeners("warning").on("warning", (warning) => {
  const { events } = runs.getStore() ?? {};
  if (events !== undefined) events.emit("warning", warning);
  else for (const listener of warned) listener.call(process, warning);
});

let imports = 0;

/** Runs the command line in this process. A config is imported afresh: a command closes the inbox of its config. */
export function beginHere(args: readonly string[], options: RunHere): Begun {
  const output = collectOutput();
  const events = new EventEmitter();
  const streamOf = (name: "stdout" | "stderr") => {
    const add = output.add(name);
    return new Writable({
      write(chunk, _encoding, done) {
        add(chunk);
        done();
      },
    });
  };
  const { input = "" } = options;
  const here = Object.assign(events, {
    stdin: Readable.from(input.length === 0 ? [] : [Buffer.from(input)]),
    stdout: streamOf("stdout"),
    stderr: streamOf("stderr"),
    env: options.env,
    cwd: () => options.cwd,
    platform: process.platform,
    versions: process.versions,
    execPath: process.execPath,
    getuid: process.getuid,
    geteuid: process.geteuid,
    getBuiltinModule: process.getBuiltinModule,
    exit: () => events.emit("exit"),
  }) as unknown as CliProcess;
  const { now } = options;
  const context = createContext(here, {
    ...(now && { now }),
    importConfig: (url) => import(/* @vite-ignore */ `${url}?run=${++imports}`),
  });
  const ended = runs.run({ ...options, events }, async () => {
    const code = await run(args, context);
    return { code, ...output.texts };
  });
  return {
    ended,
    written: output.written(ended),
    kill: (signal) => void events.emit(signal),
  };
}
