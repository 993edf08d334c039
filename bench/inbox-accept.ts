import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { InboxWriter } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { batchesOf, entriesOf } from "./inbox-entries.ts";
import { type Load, load } from "./load.ts";

const secret = newSecret();
export const deliveriesPerRound = 40_000; // with 10,000, a single stall of the machine would decide the p99
const connections = 100;
export const putsPerRound = 40_000;
const batchSize = 500;

export interface AcceptingServer {
  readonly url: string;
  readonly pid: number;
  /** Sends deliveries with different ids, each of which must be answered 2xx. */
  measure(): Promise<Load & { readonly perSecond: number }>;
  end(): void;
}

/** Starts a server script: our server, the handwritten one, or a floor of ours. */
export async function startServer(
  script: "inbox-server.ts" | "embedded-server.ts" | "bullmq-server.ts" | "otel-server.ts",
  variant: "ours" | "peer" | "verifying" | "forgetting" | "gathering" | "plain" | "instrumented" | "bare",
  database: string,
  perRound: number = deliveriesPerRound,
): Promise<AcceptingServer> {
  const file = join(import.meta.dirname, script);
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    ["--conditions=@esim-webhooks/source", file, variant, database],
    {
      env: { ...process.env, ESIM_WEBHOOK_SECRET: secret, NODE_ENV: "production" },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const [port] = await once(child.stdout, "data");
  const url = `http://127.0.0.1:${Number(port)}`;
  return {
    url,
    pid: child.pid ?? 0,
    async measure() {
      const deliveries = Array.from({ length: perRound }, () =>
        signedRequest({ type: "esim.enabled", data: sampleData("esim.enabled") }, { secret }),
      );
      const loaded = await load(`${url}/webhooks`, deliveries, connections);
      return { ...loaded, perSecond: perRound / loaded.seconds };
    },
    end: () => child.stdin.end(),
  };
}

/** Events per second of `put`, with batches of 500, two at a time. */
export async function measurePut(inbox: Pick<InboxWriter, "put">): Promise<number> {
  const batches = batchesOf(entriesOf(putsPerRound, putsPerRound), batchSize);
  const start = performance.now();
  const putNext = async () => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) await inbox.put(batch);
  };
  await Promise.all([putNext(), putNext()]);
  return putsPerRound / ((performance.now() - start) / 1000);
}
