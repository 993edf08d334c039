import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { Redis } from "ioredis";
import { load, type Request } from "../load.ts";
import { coreWaitOf } from "../process-cpu.ts";
import type { AppName } from "./apps.ts";
import type { Question } from "./server.ts";

export interface Round {
  readonly perSecond: number;
  /** The server's CPU time for one request, in µs. */
  readonly cpu: number;
  /** The CPU time of Redis for one request, in µs. NaN without Redis. */
  readonly redisCpu: number;
  readonly p99Ms: number;
}

/** A server of the bench in a process of its own. */
export interface StartedServer {
  readonly url: string;
  /** The 99th percentile of its event loop's delay since the last call, in ms. Of that, 1 ms is the timer's own. */
  loopDelayMs(): Promise<number>;
  /** How long its main thread has waited for a core so far. NaN where there is no Linux. */
  coreWaitMs(): number;
  /** Sends deliveries that must all be answered 2xx, or with a status of the same hundred as `expected`. */
  measure(deliveries: readonly Request[], connections: number, expected?: number): Promise<Round>;
  end(): void;
}

export async function startServer(
  app: AppName,
  secrets: readonly string[],
  redisUrl = "",
  frozenFolder = "",
): Promise<StartedServer> {
  const file = join(import.meta.dirname, "server.ts");
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    ["--conditions=@esim-webhooks/source", file, app, secrets.join(" "), redisUrl, frozenFolder],
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
  const ask = (question: Question) => {
    child.stdin.write(question);
    return nextNumber();
  };
  const redis = redisUrl === "" ? undefined : new Redis(redisUrl);
  return {
    url,
    loopDelayMs: () => ask("loopDelay"),
    coreWaitMs: () => coreWaitOf(child.pid ?? Number.NaN) / 1000,
    async measure(deliveries, connections, expected) {
      const [cpu, redisCpu] = [await ask("cpuTime"), await cpuTimeOf(redis)];
      const { seconds, p99Ms } = await load(url, deliveries, connections, expected);
      return {
        perSecond: deliveries.length / seconds,
        cpu: ((await ask("cpuTime")) - cpu) / deliveries.length,
        redisCpu: ((await cpuTimeOf(redis)) - redisCpu) / deliveries.length,
        p99Ms,
      };
    },
    end() {
      child.stdin.end();
      redis?.disconnect();
    },
  };
}

/** The CPU time of a Redis so far, in µs. */
async function cpuTimeOf(redis: Redis | undefined): Promise<number> {
  const info = (await redis?.info("cpu")) ?? "";
  const seconds = (field: string) => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)?.[1]);
  return (seconds("used_cpu_user") + seconds("used_cpu_sys")) * 1e6;
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
