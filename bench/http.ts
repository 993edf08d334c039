// npm run bench -- http: requests per second through an adapter, compared with a bare route of the same framework.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { load } from "./load.ts";
import { median } from "./measure.ts";

const secret = newSecret();
const rounds = 9;
const deliveriesPerRound = 20_000;
const connections = 50;
const variants = ["bare", "ours"] as const;

type Server = { child: ChildProcessByStdio<Writable, Readable, null>; url: string };
interface Round {
  readonly perSecond: number;
  /** The server's CPU time for one request, in µs. */
  readonly cpu: number;
}

async function start(framework: string, variant: string): Promise<Server> {
  const file = join(import.meta.dirname, "http-server.ts");
  const child = spawn(process.execPath, ["--conditions=@esim-webhooks/source", file, framework, variant], {
    env: { ...process.env, ESIM_WEBHOOK_SECRET: secret, NODE_ENV: "production" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  return { child, url: `http://127.0.0.1:${await nextNumber(child.stdout)}/webhooks` };
}

async function nextNumber(stream: Readable): Promise<number> {
  const [line] = (await once(stream, "data")) as [Buffer];
  return Number(line.toString());
}

async function cpuTime({ child }: Server): Promise<number> {
  child.stdin.write("?");
  return nextNumber(child.stdout);
}

/** Sends deliveries with different ids, so that each is handled and none is a duplicate. */
async function measure(server: Server): Promise<Round> {
  const deliveries = Array.from({ length: deliveriesPerRound }, () =>
    signedRequest({ type: "esim.enabled", data: sampleData("esim.enabled") }, { secret }),
  );
  const before = await cpuTime(server);
  const { seconds } = await load(server.url, deliveries, connections);
  const cpu = (await cpuTime(server)) - before;
  return { perSecond: deliveries.length / seconds, cpu: cpu / deliveries.length };
}

export async function benchHttp(): Promise<void> {
  for (const framework of ["fastify", "express"]) {
    const servers = { bare: await start(framework, "bare"), ours: await start(framework, "ours") };
    const measured: Record<(typeof variants)[number], Round[]> = { bare: [], ours: [] };
    try {
      for (const variant of variants) await measure(servers[variant]); // warms up
      for (let round = 0; round < rounds; round++) {
        for (const variant of variants) measured[variant].push(await measure(servers[variant]));
      }
    } finally {
      for (const variant of variants) servers[variant].child.stdin.end();
    }
    const figures = (variant: (typeof variants)[number], figure: keyof Round) =>
      median(measured[variant].map((round) => round[figure]));
    console.log(`\n${framework}, ${connections} connections`);
    for (const variant of variants) {
      const perSecond = Math.round(figures(variant, "perSecond")).toLocaleString("en");
      console.log(
        `  ${variant}   ${perSecond.padStart(7)} requests/s   ${figures(variant, "cpu").toFixed(1)} µs of CPU a request`,
      );
    }
    console.log(
      `  requests/s, of the bare route   ${(figures("ours", "perSecond") / figures("bare", "perSecond")).toFixed(2)}`,
    );
    console.log(
      `  CPU beyond the bare route       ${(figures("ours", "cpu") - figures("bare", "cpu")).toFixed(1)} µs a request`,
    );
  }
}
