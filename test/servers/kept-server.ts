import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { chmod, chown, mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A server that a test can stop, kill and pause. */
export interface TestServer {
  readonly url: string;
  /** How it was started, for the log. */
  readonly way: string;
  /** Starts it again with the same URL and data. Resolves when it answers. */
  start(): Promise<void>;
  /** Stops it with its stop signal, and waits until it has ended. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open, but get no answer. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Stops it for good, and removes its data. */
  close(): Promise<void>;
}

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly url: string;
  readonly stopSignal: NodeJS.Signals;
  /** Resolves once the server answers; rejects while it does not. */
  probe(): Promise<void>;
}

/** The uid of the servers, since Postgres refuses to run as root. Empty: the user of the tests. */
const otherUser: string = process.getuid?.() === 0 ? "65534" : "";

/** Creates a temporary folder that the server may write to. */
export async function serverFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `esim-webhooks-${name}-`));
  await chmod(folder, 0o700);
  if (otherUser !== "") await chown(folder, Number(otherUser), Number(otherUser));
  return folder;
}

export function asNobody(): { uid?: number; gid?: number } {
  return otherUser === "" ? {} : { uid: Number(otherUser), gid: Number(otherUser) };
}

/** Starts a private server from a command, through a keeper process that cleans up when the tests end. */
export async function keepServer(way: string, folder: string, server: ServerCommand): Promise<TestServer> {
  const keeper = spawn(
    process.execPath,
    [
      join(import.meta.dirname, "keeper.mjs"),
      folder,
      otherUser,
      server.stopSignal,
      server.command,
      ...server.args,
    ],
    { stdio: ["pipe", "pipe", "inherit"], detached: true },
  );
  const kept = follow(keeper);

  async function start(): Promise<void> {
    for (const giveUpAt = performance.now() + 120_000; ; ) {
      const started = kept.started();
      keeper.stdin?.write("start\n");
      await started;
      try {
        return await untilItAnswers(server, kept);
      } catch (error) {
        // the processes of a killed Postgres take a moment to end
        const isStillEnding =
          error instanceof Error && error.message.includes("pre-existing shared memory block");
        if (!isStillEnding || performance.now() > giveUpAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  function signal(pids: readonly number[], name: NodeJS.Signals): void {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has ended since it was listed
      }
    }
  }

  /** While the server stands still it starts no process, and the list of those that it has leaves none out. */
  function stopped(): number[] {
    process.kill(kept.pid(), "SIGSTOP");
    return childrenOf(kept.pid());
  }

  async function close(): Promise<void> {
    const ended = new Promise((resolve) => keeper.on("exit", resolve));
    keeper.stdin?.end();
    await ended;
  }

  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: server.url,
    way,
    start,
    async stop() {
      process.kill(kept.pid(), server.stopSignal);
      await kept.ended();
    },
    async kill() {
      signal([...stopped(), kept.pid()], "SIGKILL");
      await kept.ended();
    },
    async pause() {
      signal(stopped(), "SIGSTOP");
    },
    async resume() {
      signal([...stopped(), kept.pid()], "SIGCONT");
    },
    close,
  };
}

interface Kept {
  pid(): number;
  /** Resolves once the server runs or has ended again. Call it before the server is started. */
  started(): Promise<void>;
  ended(): Promise<void>;
  /** The end of its standard error; undefined while it runs. */
  lastWords(): string | undefined;
}

function follow(keeper: ChildProcess): Kept {
  let pid: number | undefined;
  let lastWords: string | undefined;
  let wake = Promise.withResolvers<void>();
  if (keeper.stdout === null) throw new TypeError("The keeper has no standard output.");
  createInterface(keeper.stdout).on("line", (line) => {
    const message = JSON.parse(line) as { pid?: number; exit?: string };
    pid = message.pid;
    lastWords = message.exit;
    wake.resolve();
    wake = Promise.withResolvers<void>();
  });
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await wake.promise;
  };
  return {
    pid() {
      if (pid === undefined) throw new Error(`The server is not running. It said: ${lastWords}`);
      return pid;
    },
    started() {
      lastWords = undefined;
      return until(() => pid !== undefined || lastWords !== undefined);
    },
    ended: () => until(() => pid === undefined),
    lastWords: () => (pid === undefined ? lastWords : undefined),
  };
}

async function untilItAnswers({ command, probe }: ServerCommand, kept: Kept): Promise<void> {
  for (const giveUpAt = performance.now() + 120_000; ; ) {
    const lastWords = kept.lastWords();
    if (lastWords !== undefined) throw new Error(`${command} ended immediately. It said: ${lastWords}`);
    try {
      return await probe();
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50)); // a server does not report that it is ready
    }
  }
}

/** The child processes of a server, such as Postgres' backends. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return []; // not on Linux
  }
}

/**
 * A port of the loopback interface that is free now. No connection is given one of these, not even when 10,000 is added, as
 * the bus of a Redis cluster does: so a server that was killed finds its port free when it is started again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 22_768); // from 32,768 on, Linux gives them to connections
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
