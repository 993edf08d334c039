// npm run bench -- sandbox: deliveries per second of the sandbox's sender, compared with a loop that posts the same bodies and keeps nothing.
import { type ChildProcess, fork } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { median } from "./measure.ts";
import { nextMessage } from "./next-message.ts";
import { inTurns, line, ms, perSecond, times } from "./report.ts";
import type { Figures, Order } from "./sandbox-service.ts";

const rounds = 3;
const perRound = 10_000;
const keptDeliveries = 1_000_000;

interface Listing {
  readonly listing: string;
  readonly accessToken: string;
}

/** A fast endpoint, in this process. */
async function startEndpoint() {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.end('{"outcome":"processed"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks` };
}

function ordered(child: ChildProcess, order: Order): Promise<Figures> {
  return nextMessage(child, order);
}

/** How long pages of the listing take while `work` runs: one after the other, 20 a second. */
async function listingTimes({ listing, accessToken }: Listing, work: Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const start = performance.now();
    const response = await fetch(listing, { headers: { authorization: `Bearer ${accessToken}` } });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`The listing answered ${response.status}.`);
    taken.push(performance.now() - start);
    await wait(50);
  }
  return taken;
}

const percentile99 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;

export async function benchSandbox(): Promise<void> {
  const endpoint = await startEndpoint();
  const child = fork(join(import.meta.dirname, "sandbox-service.ts"), [endpoint.url], {
    execArgv: ["--conditions=@esim-webhooks/source"],
  });
  try {
    const listing = await nextMessage<Listing>(child);
    const empty = await measure("few deliveries kept", child, listing);
    const { rssMb: before } = await ordered(child, { order: "fill", count: 0 });
    const { rssMb } = await ordered(child, { order: "fill", count: keptDeliveries });
    line("memory with a million deliveries", `${Math.round(rssMb)} MB`);
    line("  before them", `${Math.round(before)} MB`);
    const full = await measure("a million deliveries kept", child, listing);
    line("with a million, of with few", times(full / empty));
  } finally {
    child.kill();
    endpoint.server.close();
    endpoint.server.closeAllConnections();
  }
}

async function measure(title: string, child: ChildProcess, listing: Listing): Promise<number> {
  const taken: number[] = [];
  const figures = await inTurns(
    {
      bare: () => ordered(child, { order: "bare", count: perRound }),
      ours: async () => {
        const sent = ordered(child, { order: "send", count: perRound });
        taken.push(...(await listingTimes(listing, sent)));
        return sent;
      },
    },
    rounds,
  );
  const rate = (name: keyof typeof figures) => median(figures[name].map(({ seconds }) => perRound / seconds));
  const cpu = (name: keyof typeof figures) =>
    median(figures[name].map(({ cpuSeconds }) => (cpuSeconds / perRound) * 1_000_000));
  console.log(`\nsandbox, one endpoint, ${title}`);
  line("the HTTP client alone", perSecond(rate("bare")));
  line("  CPU of a request", `${cpu("bare").toFixed(1)} µs`);
  line("deliveries, emitted and sent", perSecond(rate("ours")), "5,000/s");
  line("  CPU of a delivery", `${cpu("ours").toFixed(1)} µs`);
  line("  of the client alone", times(rate("ours") / rate("bare")));
  line("a page of 100 deliveries meanwhile, median", ms(median(taken)));
  line("  the slowest 1 %", ms(percentile99(taken)), "below 50 ms");
  return rate("ours");
}
