// npm run bench -- door: what unauthenticated clients can take from the door, compared with a hand-written route.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { Worker } from "node:worker_threads";
import { newSecret, type SignedRequest, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { load } from "./load.ts";
import { median } from "./measure.ts";
import { line, ms } from "./report.ts";

const secret = newSecret();
const rounds = 3;
const silentClients = 1000;
const attackers = 32;
const genuineDeliveries = 40;
const longestWaitMs = 12_000;
const variants = ["ours", "hand-written"] as const;
type Variant = (typeof variants)[number];

type Server = { child: ChildProcessByStdio<Writable, Readable, null>; port: number };
interface Report {
  readonly lines: number;
  readonly rss: number;
}

async function start(variant: Variant): Promise<Server> {
  const file = join(import.meta.dirname, "door-server.ts");
  const child = spawn(process.execPath, ["--conditions=@esim-webhooks/source", file, variant], {
    env: { ...process.env, ESIM_WEBHOOK_SECRET: secret, NODE_ENV: "production" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  return { child, port: Number(port.toString()) };
}

async function report({ child }: Server): Promise<Report> {
  child.stdin.write("?");
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  return JSON.parse(text.toString()) as Report;
}

function delivery(signedWith: string, bytes = 0): SignedRequest {
  const data = { ...sampleData("esim.enabled"), padding: "x".repeat(bytes) };
  return signedRequest({ type: "esim.enabled", data }, { secret: signedWith });
}

/** The bytes of a request, whose body is `missing` bytes shorter than it says. */
function wire({ headers, body }: Pick<SignedRequest, "headers" | "body">, missing = 0): Buffer {
  const fields = Object.entries({
    host: "door",
    ...headers,
    "content-length": String(body.length + missing),
  });
  return Buffer.from(
    `POST /webhooks HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
}

/** The most memory that clients with 900 kB of a body, and then silence, take, in MB, and how many were answered in time. */
async function silence(variant: Variant): Promise<{ mb: number; answered: number }> {
  const server = await start(variant);
  const { rss: before } = await report(server);
  const request = wire(delivery(newSecret(), 900_000), 1);
  let answered = 0;
  const sockets = Array.from({ length: silentClients }, () =>
    connect(server.port, "127.0.0.1", function (this: ReturnType<typeof connect>) {
      this.write(request);
    })
      .once("data", () => {
        answered += 1;
      })
      .on("error", () => {}),
  );
  let most = 0;
  const until = performance.now() + longestWaitMs;
  while (answered < silentClients && performance.now() < until) {
    most = Math.max(most, (await report(server)).rss);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const socket of sockets) socket.destroy();
  server.child.stdin.end();
  return { mb: (most - before) / 1e6, answered };
}

/** How long a client that was answered early, and sends a byte now and then, keeps its connection, in ms. */
async function dripping(variant: Variant): Promise<number> {
  const server = await start(variant);
  const socket = connect(server.port, "127.0.0.1").on("error", () => {});
  const answered = once(socket, "data");
  socket.write(wire({ headers: {}, body: "" }, 1_000_000));
  await answered;
  const startedAt = performance.now();
  const drip = setInterval(() => socket.write("x"), 200);
  await Promise.race([
    new Promise((resolve) => socket.once("close", resolve)),
    new Promise((resolve) => setTimeout(resolve, longestWaitMs)),
  ]);
  clearInterval(drip);
  socket.destroy();
  server.child.stdin.end();
  return performance.now() - startedAt;
}

/** The times of small authentic deliveries, one after the other, during an attack, and the log lines of a second. */
async function p99Of(variant: Variant, attack?: Buffer): Promise<{ p99Ms: number; lines: number }> {
  const server = await start(variant);
  const genuine = Array.from({ length: genuineDeliveries }, () => delivery(secret));
  const url = `http://127.0.0.1:${server.port}/webhooks`;
  await load(url, [delivery(secret)], 1);
  const workerData = { port: server.port, request: attack, connections: attackers };
  const flood = attack && new Worker(join(import.meta.dirname, "door-flood.ts"), { workerData });
  if (flood) await new Promise((resolve) => setTimeout(resolve, 500)); // until it is under way
  const { lines: before } = await report(server);
  const { p99Ms, seconds } = await load(url, genuine, 1);
  const { lines } = await report(server);
  await flood?.terminate();
  server.child.stdin.end();
  return { p99Ms, lines: (lines - before - genuine.length) / seconds };
}

export async function benchDoor(): Promise<void> {
  const attacks = {
    nothing: undefined,
    "forged deliveries of 300 bytes": wire(delivery(newSecret())),
    "forged deliveries of 900 kB": wire(delivery(newSecret(), 900_000)),
  };
  console.log(`\n${attackers} connections with forged deliveries, and one with authentic ones`);
  for (const [name, attack] of Object.entries(attacks)) {
    const measured: Record<Variant, Awaited<ReturnType<typeof p99Of>>[]> = { ours: [], "hand-written": [] };
    for (let round = 0; round < rounds; round++) {
      for (const variant of variants) measured[variant].push(await p99Of(variant, attack));
    }
    for (const variant of variants) {
      const p99 = median(measured[variant].map(({ p99Ms }) => p99Ms));
      const lines = median(measured[variant].map(({ lines }) => lines));
      line(`${variant}, during ${name}: p99`, ms(p99));
      if (attack) line("  log lines of forged deliveries a second", Math.max(0, lines).toFixed(0));
    }
  }
  console.log(`\n${silentClients} connections with 900 kB of a body, and then silence`);
  for (const variant of variants) {
    const { mb, answered } = await silence(variant);
    line(`${variant}: memory`, `${mb.toFixed(0)} MB`);
    line(`  answered within ${longestWaitMs / 1000} s`, String(answered));
  }
  console.log("\none connection that keeps sending after an early answer");
  for (const variant of variants) {
    const keptMs = await dripping(variant);
    line(`${variant}: kept`, keptMs < longestWaitMs ? ms(keptMs) : `over ${longestWaitMs / 1000} s`);
  }
}
