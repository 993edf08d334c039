// npm run bench -- http: requests per second through an adapter, beside a bare route of the same framework.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { load } from "./load.ts";
import { median } from "./measure.ts";

const secret = newSecret();
const rounds = 7;
const deliveriesPerRound = 20_000;
const connections = 50;
const variants = ["bare", "ours"] as const;

/** Signed deliveries with ids of their own, so that each is worked and none is a duplicate. */
function freshDeliveries(count: number) {
  return Array.from({ length: count }, () =>
    signedRequest({ type: "esim.enabled", data: sampleData("esim.enabled") }, { secret }),
  );
}

async function start(framework: string, variant: string) {
  const file = join(import.meta.dirname, "http-server.ts");
  const child = spawn(process.execPath, ["--conditions=source", file, framework, variant], {
    env: { ...process.env, ESIM_WEBHOOK_SECRET: secret, NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: `http://127.0.0.1:${Number(line.toString())}/webhooks` };
}

async function requestsPerSecond(url: string): Promise<number> {
  const deliveries = freshDeliveries(deliveriesPerRound);
  const { seconds } = await load(url, deliveries, connections);
  return deliveries.length / seconds;
}

export async function benchHttp(): Promise<void> {
  for (const framework of ["fastify", "express"]) {
    const rates: Record<(typeof variants)[number], number[]> = { bare: [], ours: [] };
    const servers = { bare: await start(framework, "bare"), ours: await start(framework, "ours") };
    try {
      for (const variant of variants) await requestsPerSecond(servers[variant].url); // warms up
      for (let round = 0; round < rounds; round++) {
        for (const variant of variants) rates[variant].push(await requestsPerSecond(servers[variant].url));
      }
    } finally {
      for (const variant of variants) servers[variant].child.kill();
    }
    const [bare, ours] = [median(rates.bare), median(rates.ours)];
    console.log(`\n${framework}, ${connections} connections`);
    console.log(`  bare route that reads the body   ${Math.round(bare).toLocaleString("en")} requests/s`);
    console.log(`  with esim-webhooks               ${Math.round(ours).toLocaleString("en")} requests/s`);
    console.log(`  of the bare route                ${(ours / bare).toFixed(2)}`);
  }
}
