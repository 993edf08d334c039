import { existsSync } from "node:fs";
import { extname } from "node:path";
import { type Transferable, Worker, type WorkerOptions } from "node:worker_threads";
import { WebhookError } from "@esim-webhooks/core";
import { type Fault, type FaultCode, FaultError } from "../database/faults.ts";
import type { Journal } from "../database/journal.ts";
import type { Answer, PackedCalls, Reply, Request, ThreadData } from "./messages.ts";

/** A thread with a connection to the file, as the main thread sees it. */
export interface ThreadHandle {
  readonly journal: Journal | undefined;
  /** Resolves to an answer for each call, in their order. Rejects with a `FaultError` when the thread has ended, or with a `DataCloneError`. */
  call(packed: PackedCalls): Promise<readonly Answer[]>;
  /** Makes it report when another process has written. */
  watch(): void;
  unwatch(): void;
  /** Lets the thread answer all calls and end. */
  close(): Promise<void>;
}

export interface ThreadListeners {
  /** Another process has written. */
  onChanged(): void;
  /** The thread has ended, by itself or because it was closed. */
  onEnded(): void;
}

/**
 * Node.js 22 warns of node:sqlite. Deno does not, and refuses the flag. The thread gets none of the flags of the process, which are meant
 * for the program's own code, except under Yarn's Plug'n'Play, whose loader may be one of these flags.
 */
const flags = "deno" in process.versions ? [] : ["--disable-warning=ExperimentalWarning"];
const threadOptions: WorkerOptions = "pnp" in process.versions ? {} : { execArgv: flags };

/** The file that the thread runs. Bundlers would replace `new URL(…, import.meta.url)` with a copy of the file, without what it imports. */
const file = fileNextTo(import.meta.url);

function fileNextTo(url: string | undefined): URL | null {
  return URL.parse(`./thread-entry${extname(url ?? "")}`, url); // esbuild's CommonJS has no import.meta.url
}

/** Throws `thread_missing` in a bundle that was moved away from the installed package. */
export function requireThread(caller: string): void {
  if (file !== null && existsSync(file)) return;
  throw new WebhookError<FaultCode>(
    "thread_missing",
    "a bundler has separated this code from thread-entry.js, the code of the thread that has the database.",
    'Leave the package out of the bundle, and install it where the bundle runs. In next.config: serverExternalPackages: ["@esim-webhooks/store-sqlite"], and with output "standalone": outputFileTracingIncludes: { "/*": ["./node_modules/@esim-webhooks/store-sqlite/dist/**/*"] }. With esbuild: --external:@esim-webhooks/store-sqlite.',
    { where: caller },
  );
}

const ended: Fault = {
  code: "store_unavailable",
  problem: "The thread that has the database ended.",
  remedy: "It is started again with the next call.",
};

/**
 * Starts a thread. It keeps the process running only while it opens the file, has something to answer, or closes. Rejects with a
 * `FaultError` when the thread cannot open the file.
 */
export function startThread(
  data: ThreadData,
  { onChanged, onEnded }: ThreadListeners,
): Promise<ThreadHandle> {
  const worker = new Worker(file as URL, {
    workerData: data,
    name: `esim-webhooks sqlite ${data.role}`,
    ...threadOptions,
  });
  const waiting = new Map<number, (answers: readonly Answer[] | Error) => void>();
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  let lastId = 0;
  let isClosing = false;

  function post(request: Request, transferred: readonly Transferable[] = []): void {
    worker.postMessage(request, transferred);
  }

  function call(packed: PackedCalls): Promise<readonly Answer[]> {
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      post({ kind: "calls", id, packed }, [packed.bodies]);
      waiting.set(id, (answers) => {
        waiting.delete(id);
        if (waiting.size === 0 && !isClosing) worker.unref();
        if (answers instanceof Error) reject(answers);
        else resolve(answers);
      });
      worker.ref();
    });
  }

  async function close(): Promise<void> {
    isClosing = true; // an answer that comes meanwhile must not end the process before the thread has ended
    worker.ref();
    post({ kind: "close" });
    await exited;
  }

  return new Promise((resolve, reject) => {
    let cause: string | undefined;
    worker.on("error", (error: Error) => {
      cause = error.message;
    });
    void exited.then(() => {
      const error = new FaultError({ ...ended, ...(cause !== undefined && { cause }) });
      reject(error);
      for (const settle of [...waiting.values()]) settle(error);
      onEnded();
    });
    worker.on("message", (message: Reply) => {
      switch (message.kind) {
        case "opened":
          worker.unref();
          return resolve({
            journal: message.journal,
            call,
            watch: () => post({ kind: "watch" }),
            unwatch: () => post({ kind: "unwatch" }),
            close,
          });
        case "fault":
          return reject(new FaultError(message.fault));
        case "answers":
          return waiting.get(message.id)?.(message.answers);
        case "changed":
          return onChanged();
      }
    });
  });
}

/** A thread that is started when it is first needed. If it has ended, it is started again when it is next needed. */
export interface KeptThread {
  /** Rejects while it cannot be started; the next call tries again. */
  get(): Promise<ThreadHandle>;
  /** Calls `use` if the thread runs, or once it runs if it is being started. */
  ifRunning(use: (thread: ThreadHandle) => void): void;
  /** Closes the thread, if it runs or is being started. */
  close(): Promise<void>;
}

/** `start` calls `onEnded` when the thread has ended, which may be after its replacement was started. */
export function createKeptThread(start: (onEnded: () => void) => Promise<ThreadHandle>): KeptThread {
  let started: Promise<ThreadHandle> | undefined;

  function startOne(): Promise<ThreadHandle> {
    const forget = () => {
      if (started === own) started = undefined;
    };
    const own = start(forget).catch((error: unknown) => {
      forget();
      throw error;
    });
    return own;
  }

  return {
    get() {
      started ??= startOne();
      return started;
    },
    ifRunning(use) {
      started?.then(use, () => {});
    },
    async close() {
      const thread = await started?.catch(() => undefined);
      await thread?.close();
    },
  };
}
