import { EventEmitter } from "node:events";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { DatabaseSync } from "node:sqlite";
import type { Connection } from "../../packages/store-sqlite/src/database/connection.ts";
import { faultOf } from "../../packages/store-sqlite/src/database/faults.ts";
import { openReader, openWriter } from "../../packages/store-sqlite/src/database/open.ts";
import {
  type Answer,
  type Call,
  type Reply,
  type Request,
  type ThreadData,
  unpackCalls,
} from "../../packages/store-sqlite/src/thread/messages.ts";
import { createReadRunner, createWriteRunner } from "../../packages/store-sqlite/src/thread/run-calls.ts";
import type { Faults } from "./faults.ts";
import { processNumberOf } from "./programs.ts";
import type { Random } from "./random.ts";
import type { Owner, VirtualTime } from "./virtual-time.ts";

/** The process to which a thread belongs. */
export interface ThreadHost extends Owner {
  /** Its own owner, since a thread continues while the process's event loop is blocked. */
  readonly threads: Owner;
  /** While it starts, its threads answer immediately: its program also waits for the real disk, and so not in virtual time. */
  readonly isStarting: boolean;
  /** Calls back when it is killed. */
  onKilled(listener: () => void): void;
}

export interface ThreadOptions {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly random: Random;
  hostOf(number: number): ThreadHost;
  /** Called after each message whose writes are committed. */
  onCommitted(host: ThreadHost, calls: readonly Call[], answers: readonly Answer[]): void;
}

/**
 * Lets the threads of `sqliteInbox` and `sqliteState` run in this thread, on virtual time. What a thread does with a message is the
 * code of the package; only the way of messages is ours. SQLite's clock and random numbers become virtual, too.
 */
export function installThreads({ time, faults, random, hostOf, onCommitted }: ThreadOptions): void {
  const watching = new Set<SimulatedThread>();

  class SimulatedThread extends EventEmitter {
    readonly #host: ThreadHost;
    readonly #role: ThreadData["role"];
    readonly #waiting: Request[] = [];
    #connection: Connection | undefined;
    #answer: (calls: readonly Call[]) => readonly Answer[] = () => [];
    #freeAt = 0;
    #isHintPlanned = false;

    constructor(file: URL, { workerData }: { readonly workerData: ThreadData }) {
      super();
      this.#host = hostOf(processNumberOf(file));
      this.#role = workerData.role;
      this.#host.onKilled(() => this.#killed());
      time.as(this.#host, () => this.#open(workerData));
    }

    #open(options: ThreadData): void {
      const { path } = options;
      try {
        if (this.#role === "writer") {
          const { journal, files, ...connection } = openWriter(options);
          this.#connection = connection;
          this.#answer = createWriteRunner({ path, connection, journal, files });
          this.#reply({ kind: "opened", journal });
        } else {
          const connection = openReader(options);
          this.#connection = connection;
          this.#answer = createReadRunner(connection, path);
          this.#reply({ kind: "opened", journal: undefined });
        }
      } catch (error) {
        this.#reply({ kind: "fault", fault: faultOf(error, path) });
      }
    }

    postMessage(request: Request): void {
      if (request.kind === "watch") return void watching.add(this);
      if (request.kind === "unwatch") return void watching.delete(this);
      if (this.#host.isStarting) return void queueMicrotask(() => this.#work(request));
      this.#waiting.push(request);
      this.#freeAt = Math.max(this.#freeAt, time.now) + faults.diskMs();
      const what = `SQLite ${this.#role}: ${textOf(request)}`;
      time.plan(this.#host.threads, this.#freeAt - time.now, what, () => {
        this.#waiting.splice(this.#waiting.indexOf(request), 1);
        this.#work(request);
      });
    }

    #work(request: Request): void {
      if (request.kind === "close") {
        this.#close();
        this.emit("exit", 0);
        return;
      }
      if (request.kind !== "calls") return;
      const { id, packed } = request;
      if (!this.#host.isStarting && faults.isDiskFull()) {
        const fault = {
          code: "store_full",
          problem: "There is no room left.",
          remedy: "Free some.",
        } as const;
        time.note(`  SQLite ${this.#role}: the disk is full`);
        this.#reply({ kind: "answers", id, answers: packed.calls.map(() => ({ fault })) });
        return;
      }
      const calls = unpackCalls(packed);
      const changes = this.#changes();
      const answers = time.as(this.#host, () => this.#answer(calls));
      if (this.#role === "writer") {
        onCommitted(this.#host, calls, answers);
        if (this.#changes() !== changes) for (const other of watching) if (other !== this) other.#changed();
      }
      this.#reply({ kind: "answers", id, answers });
    }

    #changes(): number | undefined {
      return this.#connection?.get<{ count: number }>("select total_changes() as count")?.count;
    }

    /** Another process has changed the file. The watch notices that within 50 ms, and once for all changes. */
    #changed(): void {
      if (this.#isHintPlanned || random.chance(0.2)) return; // a hint may be missed
      this.#isHintPlanned = true;
      time.plan(this.#host, random.between(0, 100), "hint of another process", () => {
        this.#isHintPlanned = false;
        this.emit("message", { kind: "changed" } satisfies Reply);
      });
    }

    #reply(message: Reply): void {
      const emit = () => void this.emit("message", message);
      if (this.#host.isStarting) queueMicrotask(() => time.as(this.#host, emit));
      else time.plan(this.#host, faults.threadMs(), `SQLite ${this.#role} answers`, emit);
    }

    /** Each message that is under way is done, or not. */
    #killed(): void {
      for (const request of this.#waiting.splice(0)) if (random.chance(0.5)) this.#work(request);
      this.#close();
    }

    #close(): void {
      watching.delete(this);
      this.#connection?.close();
      this.#connection = undefined;
    }

    ref(): void {}
    unref(): void {}
  }

  const require = createRequire(import.meta.url);
  const threads = require("node:worker_threads");
  threads.Worker = SimulatedThread;
  syncBuiltinESMExports();

  // on the prototype: the exports of node:sqlite cannot be replaced. Each connection begins with an exec
  const { exec } = DatabaseSync.prototype;
  const prepared = new WeakSet<DatabaseSync>();
  DatabaseSync.prototype.exec = function (sql) {
    if (!prepared.has(this)) {
      prepared.add(this);
      this.function("unixepoch", { varargs: true }, () => Date.now() / 1000);
      this.function("randomblob", (size) =>
        Uint8Array.from({ length: Number(size) }, () => random.below(256)),
      );
    }
    exec.call(this, sql);
  };
}

function textOf(request: Request): string {
  return request.kind === "calls" ? request.packed.calls.map(({ name }) => name).join(" + ") : request.kind;
}
