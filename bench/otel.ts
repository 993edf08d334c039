// npm run bench -- otel: what @esim-webhooks/otel and OpenTelemetry's SDK add to a delivery, and how long a scrape takes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createReceiver,
  type DedupeStore,
  type Delivery,
  type InboxAdmin,
  type Receiver,
} from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { type InstrumentOptions, instrument } from "@esim-webhooks/otel";
import { metricsHandler } from "@esim-webhooks/otel/prometheus";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import { publishEveryMessage } from "../packages/otel/test/every-message.ts";
import { privatePostgres } from "../test/servers/index.ts";
import { fillFile } from "./embedded.ts";
import { startServer } from "./inbox-accept.ts";
import { fill } from "./inbox-size.ts";
import { median } from "./measure.ts";
import { barePeer, sdkOptions } from "./otel-sdk.ts";
import { withCpu } from "./process-cpu.ts";
import { inTurns, line, micros, ms, times } from "./report.ts";

const secret = newSecret();
const rounds = 41;
const perRound = 5000;
const serverRounds = 7;
const perServerRound = 40_000; // V8 takes some 30,000 until a server is as fast as it gets
const scrapes = 50;

/** A store that forgets everything, so that the same deliveries can be handled again. */
const store: DedupeStore = {
  capabilities: { durable: false, multiProcess: true, transactional: false, retentionMs: 0 },
  claim: async () => ({ status: "claimed", token: "1" }),
  extend: async () => true,
  complete: async () => true,
  release: async () => true,
  close: async () => {},
};

export async function benchOtel(): Promise<void> {
  await benchReceiving();
  await benchServers();
  await benchScrapes();
}

async function benchReceiving(): Promise<void> {
  const deliveries: readonly Delivery[] = Array.from({ length: perRound }, () => {
    const { method, headers, body } = signedRequest(
      { type: "esim.enabled", data: sampleData("esim.enabled") },
      { secret },
    );
    return { method, headers, body: Buffer.from(body) };
  });
  const peer = barePeer();
  const plainly = createReceiver({ "*": async () => {} }, { secret, store });
  const withPeer = createReceiver({ "*": async () => peer() }, { secret, store });

  /** Resolves to the µs per delivery. */
  async function receiveAll(receiver: Receiver): Promise<number> {
    const start = performance.now();
    for (const delivery of deliveries) await receiver.receive(delivery);
    return ((performance.now() - start) / perRound) * 1000;
  }
  async function whileInstrumented(options: InstrumentOptions): Promise<number> {
    const stop = instrument(options);
    return receiveAll(plainly).finally(stop);
  }

  const [sampled, unsampled] = [sdkOptions("sampled"), sdkOptions("unsampled")];
  const taken = await inTurns(
    {
      plain: () => receiveAll(plainly),
      stopped: () => receiveAll(plainly), // after the instrumented round of before
      withoutSdk: () => whileInstrumented({}),
      unsampled: () => whileInstrumented(unsampled),
      sampled: () => whileInstrumented(sampled),
      bare: () => receiveAll(withPeer),
    },
    rounds,
  );
  const plain = median(taken.plain);
  console.log("\nreceive() in this process, one after the other");
  line("not instrumented", micros(plain));
  for (const [name, each, wanted] of [
    ["not instrumented, again", taken.stopped, "1 ×"],
    ["instrumented, without an SDK", taken.withoutSdk, ""],
    ["instrumented, its spans are not sampled", taken.unsampled, ""],
    ["instrumented", taken.sampled, "≤ 1.15 ×"],
    ["only the SDK: one span and its histograms", taken.bare, ""],
  ] as const)
    line(name, `${micros(median(each))}, ${times(median(each) / plain)}`, wanted);
}

async function benchServers(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  const server = async (mode: "plain" | "instrumented" | "bare", file = "") =>
    startServer("otel-server.ts", mode, file && join(folder, `${mode}-${file}`), perServerRound);
  const servers = {
    plain: await server("plain"),
    instrumented: await server("instrumented"),
    bare: await server("bare"),
    plainInbox: await server("plain", "inbox.db"),
    instrumentedInbox: await server("instrumented", "inbox.db"),
  };
  try {
    const measured = Object.fromEntries(
      Object.entries(servers).map(([name, { pid, measure }]) => [
        name,
        async () => (await withCpu(perServerRound, pid, measure, pid)).cpu.ours,
      ]),
    ) as Record<keyof typeof servers, () => Promise<number>>;
    const cpu = await inTurns(measured, serverRounds);
    console.log("\na node:http server, CPU of its process for a delivery");
    for (const [name, plain, others] of [
      ["a handler, memory store", cpu.plain, { instrumented: cpu.instrumented, "only the SDK": cpu.bare }],
      ["an inbox in an SQLite file", cpu.plainInbox, { instrumented: cpu.instrumentedInbox }],
    ] as const) {
      line(name, micros(median(plain)));
      for (const [other, each] of Object.entries(others))
        line(`  ${other}`, `${micros(median(each))}, ${times(median(each) / median(plain))}`, "≤ 1.15 ×");
    }
  } finally {
    for (const { end } of Object.values(servers)) end();
    rmSync(folder, { recursive: true });
  }
}

/** How long a scrape takes with nearly every series that there can be, and a million rows. */
async function benchScrapes(): Promise<void> {
  console.log("\na scrape of a million rows, 1 % of them dead and 1 % waiting");
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  const postgres = await privatePostgres({ fsync: "on" });
  try {
    const path = join(folder, "inbox.db");
    await fillFile(path);
    await benchScrape("SQLite", sqliteInbox({ path }));
    const inbox = postgresInbox({ url: postgres.url, schema: "big" });
    await inbox.migrate();
    const pool = new pg.Pool({ connectionString: postgres.url });
    await fill(pool, "big");
    await pool.end();
    await benchScrape("Postgres", inbox);
  } finally {
    await postgres.close();
    rmSync(folder, { recursive: true });
  }
}

async function benchScrape(
  name: string,
  inbox: Pick<InboxAdmin, "gauges" | "paused" | "runs"> & { close(): Promise<void> },
): Promise<void> {
  const metrics = await metricsHandler({ inbox });
  publishEveryMessage();
  const taken: number[] = [];
  let series = 0;
  await inbox.gauges(); // opens it
  for (let scrape = 0; scrape < scrapes; scrape++) {
    const start = performance.now();
    const text = await (await metrics()).text();
    taken.push(performance.now() - start);
    series = text.split("\n").filter((each) => each !== "" && !each.startsWith("#")).length;
  }
  await metrics.close();
  await inbox.close();
  line(
    `${name}, ${series} series: median, slowest`,
    `${ms(median(taken))}, ${ms(Math.max(...taken))}`,
    "≤ 50 ms",
  );
}
