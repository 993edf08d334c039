// The load of the bench with forged deliveries, in a process of its own: the parent sends a `Mix`, and gets an `Answered`.
import os from "node:os";
import { p99 } from "../load.ts";
import { standardWebhook } from "./deliveries.ts";
import { forgeries } from "./forgeries.ts";
import { openStream } from "./stream.ts";

export interface Mix {
  readonly url: string;
  /** The receiver's. */
  readonly secret: string;
  readonly seconds: number;
  readonly authenticPerSecond: number;
  readonly forgedPerSecond: number;
  /** The least status that a forged delivery is answered with. */
  readonly forgedStatus: number;
}

export interface Answered {
  /** The 99th percentile of the authentic deliveries. */
  readonly p99Ms: number;
  readonly forgedPerSecond: number;
}

os.setPriority(os.constants.priority.PRIORITY_LOW); // where both want a core, the server gets it

process.on("message", async (mix: Mix) => process.send?.(await run(mix)));

async function run(mix: Mix): Promise<Answered> {
  const { url, secret, seconds, authenticPerSecond, forgedPerSecond, forgedStatus } = mix;
  const deliveries = Array.from({ length: authenticPerSecond * (seconds + 1) }, () =>
    standardWebhook(secret, 300),
  );
  const authentic = await openStream(url, deliveries, authenticPerSecond, (status) => status === 200);
  const forged = await openStream(
    url,
    forgedPerSecond > 0 ? forgeries(secret) : [],
    forgedPerSecond,
    (status) => status >= forgedStatus,
  );
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1000) {
    authentic.send();
    forged.send();
    await new Promise(setImmediate);
  }
  authentic.close();
  forged.close();
  return {
    p99Ms: p99(Float64Array.from(authentic.times)),
    forgedPerSecond: forged.times.length / seconds,
  };
}
