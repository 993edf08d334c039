// What a forged body of 1 MiB costs: its reading, as the bare route reads it, and one hash for each key.
import { createHmac } from "node:crypto";
import { newSecret } from "@esim-webhooks/core/testing";
import { median } from "../measure.ts";
import { line, micros, times } from "../report.ts";
import type { AppName } from "./apps.ts";
import { standardWebhook } from "./deliveries.ts";
import { type StartedServer, startServer } from "./started.ts";

const mebibyte = 1024 * 1024;
const rounds = 5;
const perRound = 50;

export async function benchFlood(): Promise<void> {
  const deliveries = Array.from({ length: perRound }, () => standardWebhook(newSecret(), mebibyte));
  const body = Buffer.from(deliveries[0]?.body ?? "");
  for (const framework of ["fastify", "express"] as const) {
    console.log(`\n${framework}, a forged body of 1 MiB`);
    const keys = [newSecret(), newSecret(), newSecret()];
    const start = (app: AppName, count: number) => startServer(app, keys.slice(0, count));
    const servers: StartedServer[] = [
      await start(`${framework} bare`, 1),
      await start(`${framework} ours`, 1),
      await start(`${framework} ours`, 3),
    ];
    const measured: number[][] = servers.map(() => []);
    const hashes: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      for (const [n, server] of servers.entries()) {
        const { cpu } = await server.measure(deliveries, 1, n === 0 ? 200 : 401);
        if (round > 0) measured[n]?.push(cpu);
      }
      hashes.push(hashTime(body));
    }
    for (const server of servers) server.end();
    const [read, one, three] = measured.map((cpu) => median(cpu)) as [number, number, number];
    const hash = median(hashes);
    line("CPU of the bare route, which reads it", micros(read));
    line("one hash", micros(hash));
    line("CPU with one key", micros(one));
    line("  of reading and one hash", times(one / (read + hash)), "≤ 1 ×, or so");
    line("CPU of each further key, of one hash", times((three - one) / 2 / hash), "≤ 1 ×, or so");
  }
}

/** The CPU time of one HMAC over the body, in µs. */
function hashTime(body: Buffer): number {
  const before = process.threadCpuUsage();
  for (let call = 0; call < perRound; call++) createHmac("sha256", "key").update(body).digest();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / perRound;
}
