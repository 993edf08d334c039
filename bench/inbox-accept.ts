import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import type { PostgresInbox } from "@esim-webhooks/store-postgres";
import { batchesOf, entriesOf } from "./inbox-entries.ts";
import { type Load, load } from "./load.ts";

const secret = newSecret();
const deliveriesPerRound = 40_000; // of 10,000, one stall of the machine would be the slowest 1 % by itself
const connections = 100;
const putsPerRound = 40_000;
const batchSize = 500;

export interface AcceptingServer {
  /** Deliveries with ids of their own, each answered 202. */
  measure(): Promise<Load & { readonly perSecond: number }>;
  end(): void;
}

export async function startServer(variant: "ours" | "peer", databaseUrl: string): Promise<AcceptingServer> {
  const file = join(import.meta.dirname, "inbox-server.ts");
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    ["--conditions=@esim-webhooks/source", file, variant, databaseUrl],
    {
      env: { ...process.env, ESIM_WEBHOOK_SECRET: secret, NODE_ENV: "production" },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const [port] = await once(child.stdout, "data");
  return {
    async measure() {
      const deliveries = Array.from({ length: deliveriesPerRound }, () =>
        signedRequest({ type: "esim.enabled", data: sampleData("esim.enabled") }, { secret }),
      );
      const loaded = await load(`http://127.0.0.1:${Number(port)}/webhooks`, deliveries, connections);
      return { ...loaded, perSecond: deliveriesPerRound / loaded.seconds };
    },
    end: () => child.stdin.end(),
  };
}

/** Events per second by `put` of batches, two at a time. */
export async function measurePut(inbox: PostgresInbox): Promise<number> {
  const batches = batchesOf(entriesOf(putsPerRound, putsPerRound), batchSize);
  const start = performance.now();
  const putNext = async () => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) await inbox.put(batch);
  };
  await Promise.all([putNext(), putNext()]);
  return putsPerRound / ((performance.now() - start) / 1000);
}
