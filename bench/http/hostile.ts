// Authentic deliveries among forged ones of all kinds, as many as 30 % of what a bare route can answer.
import { fork } from "node:child_process";
import { join } from "node:path";
import { median } from "../measure.ts";
import { nextMessage } from "../next-message.ts";
import { ms, percent, perSecond, times } from "../report.ts";
import type { AppName } from "./apps.ts";
import { standardWebhook } from "./deliveries.ts";
import type { Answered, Mix } from "./hostile-load.ts";
import { type StartedServer, withServers } from "./started.ts";

const frameworks = ["fastify", "express"] as const;
type Framework = (typeof frameworks)[number];

const rounds = 4;
const seconds = 1.2;
const authenticPerSecond = 1_000;
const attackShare = 0.3;

/** The figures of one run of the load. */
interface Shown extends Answered {
  /** The 99th percentile of the delay of the server's event loop. */
  readonly loopDelayMs: number;
  /** The part of the time that the server's main thread waited for a core. */
  readonly coreWait: number;
}

type Send = (server: StartedServer, mix: Omit<Mix, "url">) => Promise<Shown>;

/**
 * Each server gets the attack of its framework, 30 % of what the bare route can answer, and the smallest attack of all: with that, the
 * frameworks can be compared. The bare route, which checks nothing, shows what of the delay is the machine's.
 */
export async function benchHostile(secret: string): Promise<void> {
  const attacks = new Map<Framework, number>();
  for (const framework of frameworks)
    attacks.set(framework, attackShare * (await capacity(framework, secret)));
  const smallest = Math.min(...attacks.values());
  const load = fork(join(import.meta.dirname, "hostile-load.ts"), {
    execArgv: ["--conditions=@esim-webhooks/source"],
  });
  const send: Send = async (server, mix) => {
    const before = server.coreWaitMs();
    await server.loopDelayMs(); // since now
    const answered = await nextMessage<Answered>(load, { ...mix, url: server.url } satisfies Mix);
    const coreWait = (server.coreWaitMs() - before) / (mix.seconds * 1000);
    return { ...answered, loopDelayMs: await server.loopDelayMs(), coreWait };
  };
  try {
    for (const framework of frameworks) {
      const own = attacks.get(framework) ?? smallest;
      await benchFramework(framework, secret, smallest < own ? [smallest, own] : [own], send);
    }
  } finally {
    load.kill();
  }
}

async function benchFramework(
  framework: Framework,
  secret: string,
  attacks: readonly number[],
  send: Send,
): Promise<void> {
  const names = [
    `${framework} bare`,
    `${framework} hand-written`,
    `${framework} ours`,
  ] as const satisfies AppName[];
  const rates = [0, ...attacks];
  console.log(`\n${framework}, ${authenticPerSecond} authentic deliveries a second among forged ones`);
  await withServers(names, [secret], "", async (servers) => {
    const shown = new Map(names.map((name) => [name, rates.map((): Shown[] => [])]));
    for (let round = 0; round <= rounds; round++) {
      for (const name of names) {
        const forgedStatus = name.endsWith("bare") ? 200 : 400;
        for (const [index, forgedPerSecond] of rates.entries()) {
          const mix = { secret, seconds, authenticPerSecond, forgedPerSecond, forgedStatus };
          const found = await send(servers[name], mix);
          if (round > 0) shown.get(name)?.[index]?.push(found); // the first one warms up
        }
      }
    }
    for (const name of names) report(name, rates, shown.get(name) ?? []);
  });
}

function report(name: string, rates: readonly number[], shown: readonly (readonly Shown[])[]): void {
  const of = (index: number, figure: keyof Shown) => median(shown[index]?.map((each) => each[figure]) ?? []);
  console.log(`  ${name}`);
  for (const [index, rate] of rates.entries()) {
    const isAlone = index === 0;
    const isOwn = index === rates.length - 1;
    const answered = isAlone
      ? "alone"
      : `with ${perSecond(rate)}, ${perSecond(of(index, "forgedPerSecond"))} answered`;
    const ofAlone = isAlone ? "" : `, ${times(of(index, "p99Ms") / of(0, "p99Ms"))} of alone`;
    const wanted = isOwn && name.endsWith("ours") ? "   wanted: ≤ 2 ×" : "";
    console.log(
      `    ${answered.padEnd(36)} p99 ${ms(of(index, "p99Ms"))}${ofAlone}, event loop ${ms(of(index, "loopDelayMs"))}, ` +
        `waited for a core ${percent(of(index, "coreWait"))}${wanted}`,
    );
  }
}

/** Measures how many requests the bare route answers a second. */
async function capacity(framework: Framework, secret: string): Promise<number> {
  const name = `${framework} bare` as const;
  return withServers([name], [secret], "", async (servers) => {
    const deliveries = Array.from({ length: 10_000 }, () => standardWebhook(secret, 300));
    const measured: number[] = [];
    for (let round = 0; round < 7; round++) {
      measured.push((await servers[name].measure(deliveries, 100)).perSecond);
    }
    return median(measured.slice(2)); // the first ones warm up
  });
}
