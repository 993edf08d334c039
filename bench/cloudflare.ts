// npm run bench -- cloudflare: the size of a Worker's bundle, and the CPU of workerd for a delivery.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { transform } from "esbuild";
import { bundleWorker, layOut } from "../test/servers/workerd.ts";
import { median } from "./measure.ts";
import { withCpu } from "./process-cpu.ts";
import { inTurns, line, micros, times } from "./report.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const deliveries = 3000; // in a round
const connections = 8;
const rounds = 7;

export async function benchCloudflare(): Promise<void> {
  console.log("\ncloudflare: a Worker's bundle, minified and gzipped");
  for (const [what, file] of [
    ["webhookHandler with durableObjectStore", "examples/cloudflare/worker.ts"],
    ["queueInbox and queueHandler", "examples/cloudflare/queue.ts"],
  ] as const) {
    const { code } = await transform(await bundleWorker(file), { minify: true, format: "esm" });
    line(what, `${(gzipSync(code).byteLength / 1000).toFixed(1)} kB`);
  }
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  const script = await bundleWorker("bench/cloudflare-worker.ts");
  const { command, args, url } = await layOut(folder, script);
  const workerd = spawn(command, args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  try {
    await answers(url);
    await benchDeliveries(url, workerd.pid ?? 0);
  } finally {
    workerd.kill();
    await once(workerd, "exit");
    rmSync(folder, { recursive: true });
  }
}

async function answers(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => pause(50)); // nothing reports that it is ready
    if (response !== undefined) return void (await response.arrayBuffer());
  }
}

async function benchDeliveries(url: string, workerd: number): Promise<void> {
  const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;
  const cpu = async (path: string) => {
    const requests = Array.from({ length: deliveries }, () => signedRequest(event, { secret }));
    const used = await withCpu(deliveries, workerd, () => send(`${url}/${path}`, requests));
    return used.cpu.server;
  };
  const measured = {
    bare: () => cpu("bare"),
    inline: () => cpu("inline"),
    objects: () => cpu("objects"),
    queue: () => cpu("queue"),
  };
  const found = await inTurns(measured, rounds);
  const bare = median(found.bare);
  console.log(
    `\ncloudflare: CPU of workerd for a delivery of ${signedRequest(event, { secret }).body.length} bytes`,
  );
  line("a Worker that only verifies and parses", micros(bare));
  for (const [name, what] of [
    ["inline", "webhookHandler with memoryStore"],
    ["objects", "webhookHandler with durableObjectStore"],
    ["queue", "queueInbox, without the Queue"],
  ] as const) {
    const figure = median(found[name]);
    line(what, `${micros(figure)}, ${times(figure / bare)}`);
  }
}

async function send(url: string, requests: ReturnType<typeof signedRequest>[]): Promise<void> {
  const left = requests.values();
  const connection = async () => {
    for (const request of left) {
      const response = await fetch(url, request);
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${url} answered ${response.status}.`);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
}
