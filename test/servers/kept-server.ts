import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, chown, mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A server that tests may do to what happens to servers. */
export interface TestServer {
  readonly url: string;
  /** How it came to be, for the log. */
  readonly way: string;
  /** Starts it again where it was. Resolves when it answers. */
  start(): Promise<void>;
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing is answered. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Ends it for good and removes what it left. */
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

/** Who a server runs as: servers such as Postgres refuse root. Empty: as the tests do. */
const nobody: string = process.getuid?.() === 0 ? "65534" : "";

/** A folder in the temporary one, which the server may write to. */
export async function serverFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `esim-webhooks-${name}-`));
  await chmod(folder, 0o700);
  if (nobody !== "") await chown(folder, Number(nobody), Number(nobody));
  return folder;
}

export function asNobody(): { uid?: number; gid?: number } {
  return nobody === "" ? {} : { uid: Number(nobody), gid: Number(nobody) };
}

/** Starts a private server from a command, with a keeper beside it. */
export async function keepServer(way: string, folder: string, server: ServerCommand): Promise<TestServer> {
  const keeper = spawn(
    process.execPath,
    [
      join(import.meta.dirname, "keeper.mjs"),
      folder,
      nobody,
      server.stopSignal,
      server.command,
      ...server.args,
    ],
    { stdio: ["pipe", "pipe", "inherit"], detached: true },
  );
  const kept = follow(keeper);

  async function start(): Promise<void> {
    for (const giveUpAt = Date.now() + 20_000; ; ) {
      const started = kept.started();
      keeper.stdin?.write("start\n");
      await started;
      try {
        return await untilItAnswers(server, kept);
      } catch (error) {
        // what is left of a Postgres that was killed takes a moment to end
        const isLeft = error instanceof Error && error.message.includes("pre-existing shared memory block");
        if (!isLeft || Date.now() > giveUpAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async function signal(name: NodeJS.Signals): Promise<void> {
    for (const pid of [kept.pid(), ...childrenOf(kept.pid())]) process.kill(pid, name);
  }

  await start();
  return {
    url: server.url,
    way,
    start,
    async stop() {
      process.kill(kept.pid(), server.stopSignal);
      await kept.ended();
    },
    async kill() {
      process.kill(kept.pid(), "SIGSTOP"); // or it could start one more process while we look
      await signal("SIGKILL");
      await kept.ended();
    },
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    async close() {
      const ended = new Promise((resolve) => keeper.on("exit", resolve));
      keeper.stdin?.end();
      await ended;
    },
  };
}

interface Kept {
  pid(): number;
  /** Resolves once the server that is about to be started runs, or has ended again. */
  started(): Promise<void>;
  ended(): Promise<void>;
  /** What it said on standard error, once it has ended. */
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
  for (const giveUpAt = Date.now() + 60_000; ; ) {
    const lastWords = kept.lastWords();
    if (lastWords !== undefined) throw new Error(`${command} ended at once. It said: ${lastWords}`);
    try {
      return await probe();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50)); // it tells nobody when it is ready
    }
  }
}

/** A server's own processes, such as Postgres' backends. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return []; // not on Linux
  }
}

/** A port of the loopback interface that is free just now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new TypeError("A TCP server has a port.");
  return address.port;
}
