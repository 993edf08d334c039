import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { load, type Request } from "../load.ts";
import type { AppName } from "./apps.ts";

export interface Round {
  readonly perSecond: number;
  /** The server's CPU time for one request, in µs. */
  readonly cpu: number;
  readonly p99Ms: number;
}

/** A server of the bench in a process of its own. */
export interface StartedServer {
  readonly url: string;
  /** Its CPU time so far, in µs. */
  cpuTime(): Promise<number>;
  /** Sends deliveries that must all be answered 2xx, or with a status of the same hundred as `expected`. */
  measure(deliveries: readonly Request[], connections: number, expected?: number): Promise<Round>;
  end(): void;
}

export async function startServer(
  app: AppName,
  secrets: readonly string[],
  redisUrl = "",
): Promise<StartedServer> {
  const file = join(import.meta.dirname, "server.ts");
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    ["--conditions=@esim-webhooks/source", file, app, secrets.join(" "), redisUrl],
    {
      env: { ...process.env, NODE_ENV: "production", NODE_NO_WARNINGS: "1" },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const nextNumber = async () => {
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    return Number(line.toString());
  };
  const url = `http://127.0.0.1:${await nextNumber()}/webhooks`;
  const cpuTime = () => {
    child.stdin.write("?");
    return nextNumber();
  };
  return {
    url,
    cpuTime,
    async measure(deliveries, connections, expected) {
      const before = await cpuTime();
      const { seconds, p99Ms } = await load(url, deliveries, connections, expected);
      const cpu = ((await cpuTime()) - before) / deliveries.length;
      return { perSecond: deliveries.length / seconds, cpu, p99Ms };
    },
    end: () => child.stdin.end(),
  };
}

/** Starts servers, and ends them when the work with them has ended. */
export async function withServers<Name extends AppName, Result>(
  names: readonly Name[],
  secrets: readonly string[],
  redisUrl: string,
  work: (servers: Readonly<Record<Name, StartedServer>>) => Promise<Result>,
): Promise<Result> {
  const started = await Promise.all(names.map((name) => startServer(name, secrets, redisUrl)));
  try {
    return await work(
      Object.fromEntries(names.map((name, n) => [name, started[n]])) as Record<Name, StartedServer>,
    );
  } finally {
    for (const server of started) server.end();
  }
}
