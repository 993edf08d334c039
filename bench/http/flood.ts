// Measures the cost of a forged body of 1 MiB, apart from its reading, as the bare route reads it, and one hash for each key.
import { createHmac } from "node:crypto";
import { newSecret } from "@esim-webhooks/core/testing";
import type { Request } from "../load.ts";
import { median } from "../measure.ts";
import { inTurns, line, micros, times } from "../report.ts";
import type { AppName } from "./apps.ts";
import { standardWebhook } from "./deliveries.ts";
import { type StartedServer, startServer } from "./started.ts";

const mebibyte = 1024 * 1024;
const rounds = 15;
const furtherKeys = 4;
const perRound = 50;

export async function benchFlood(): Promise<void> {
  const deliveries = Array.from({ length: perRound }, () => standardWebhook(newSecret(), mebibyte));
  const body = Buffer.from(deliveries[0]?.body ?? "");
  for (const framework of ["fastify", "express"] as const) {
    console.log(`\n${framework}, a forged body of 1 MiB`);
    const keys = Array.from({ length: 1 + furtherKeys }, newSecret);
    const start = (app: AppName, count: number) => startServer(app, keys.slice(0, count));
    const bare = await start(`${framework} bare`, 1);
    const withOneKey = await start(`${framework} ours`, 1);
    const withAllKeys = await start(`${framework} ours`, keys.length);
    const measured = await inTurns(
      {
        read: () => cpuOf(bare, deliveries, 200),
        hash: async () => hashTime(body),
        one: () => cpuOf(withOneKey, deliveries, 401),
        all: () => cpuOf(withAllKeys, deliveries, 401),
      },
      rounds,
    );
    for (const server of [bare, withOneKey, withAllKeys]) server.end();
    const { read, hash, one, all } = measured;
    const further = all.map((cpu, round) => (cpu - at(one, round)) / furtherKeys / at(hash, round));
    line("CPU of the bare route, which reads it", spread(read, micros));
    line("one hash", spread(hash, micros));
    line("CPU with one key", spread(one, micros));
    line("  of reading and one hash", times(median(one) / (median(read) + median(hash))), "≤ 1 ×, or so");
    line("CPU of each further key, of one hash", spread(further, times), "≤ 1 ×, or so");
  }
}

async function cpuOf(
  server: StartedServer,
  deliveries: readonly Request[],
  expected: number,
): Promise<number> {
  return (await server.measure(deliveries, 1, expected)).cpu;
}

/** The median, with the lower and the upper quartile. */
function spread(figures: readonly number[], text: (figure: number) => string): string {
  const sorted = figures.toSorted((a, b) => a - b);
  const quartile = (part: number) => text(at(sorted, Math.floor((sorted.length - 1) * part)));
  return `${text(median(figures))} (${quartile(0.25)} to ${quartile(0.75)})`;
}

const at = (figures: readonly number[], index: number) => figures[index] ?? Number.NaN;

/** The CPU time of one HMAC over the body, in µs. */
function hashTime(body: Buffer): number {
  const before = process.threadCpuUsage();
  for (let call = 0; call < perRound; call++) createHmac("sha256", "key").update(body).digest();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / perRound;
}
