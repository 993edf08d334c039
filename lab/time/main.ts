// npm run lab -- time [sqlite | postgres] [--minutes M] [--rate R] [--leak bodies | purge]
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freePort } from "../../test/servers/kept-server.ts";
import { type Child, startChild } from "./children.ts";
import { type Database, databases, type Figures } from "./place.ts";
import type { Role, Settings } from "./roles.ts";
import { leastShare, type Point, slopeOf } from "./slope.ts";

/** Ten seconds; less in a run of minutes, so that it has thirty samples. */
const sampleEveryMs = (lastsMs: number) => Math.min(10_000, lastsMs / 30);
/** The part of a run before its series begin: the code is compiled, the caches are filled, and the table has as many rows as the retention allows. */
const warmUpShare = 1 / 3;
const longestWarmUpMs = 10 * 60_000;
const longestRetentionMs = 60_000;
/** How long the workers start after the sender. An index keeps the size that its largest backlog has given it, so the largest one comes before the series. */
const backlogMs = (lastsMs: number) => Math.min(30_000, lastsMs / 30);
const dayMs = 86_400_000;

/** The processes in the order in which they are started. Only the product's are measured, and the sender's p99. */
const processes: readonly { readonly name: string; readonly role: Role; readonly isOurs: boolean }[] = [
  { name: "service", role: "service", isOurs: false },
  { name: "operator", role: "operator", isOurs: true },
  { name: "receiver", role: "receiver", isOurs: true },
  { name: "sender", role: "sender", isOurs: false },
  { name: "worker 1", role: "worker", isOurs: true },
  { name: "worker 2", role: "worker", isOurs: true },
];

/** Runs receivers and workers under a steady load, and prints the slope of each series. Resolves to whether none grows. */
export async function runTime(...args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      minutes: { type: "string", default: "45" },
      rate: { type: "string", default: "1000" },
      leak: { type: "string" },
    },
  });
  const open = databases[positionals[0] ?? "sqlite"];
  const [minutes, perSecond] = [Number(values.minutes), Number(values.rate)];
  const isLeak = values.leak === undefined || ["bodies", "purge"].includes(values.leak);
  if (open === undefined || !(minutes >= 1) || !(perSecond >= 1) || !isLeak) {
    console.error(
      `Name ${Object.keys(databases).join(" or ")}, at least one of --minutes, a --rate from 1 on, and as --leak bodies or purge.`,
    );
    return false;
  }
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-time-"));
  chmodSync(folder, 0o700);
  const database = await open(folder);
  const children: Child[] = [];
  try {
    let settings: Partial<Settings> = {
      place: database.place,
      keyFile: join(folder, "signing-keys.json"),
      port: await freePort(),
      perSecond,
      retentionMs: values.leak === "purge" ? dayMs : Math.min(longestRetentionMs, minutes * 10_000),
      keepsBodies: values.leak === "bodies",
    };
    for (const { name, role } of processes) {
      const child = await startChild(name, role, settings);
      children.push(child);
      settings = { ...settings, ...child.settings };
      if (role === "sender") await sleep(backlogMs(minutes * 60_000));
    }
    const { series, counts } = await watch(children, database, minutes * 60_000);
    const missing = missingWork(counts, minutes, perSecond);
    for (const sentence of missing) console.log(`✘ ${sentence}`);
    return printSlopes(series) && missing.length === 0;
  } finally {
    for (const child of children.reverse()) await child.end(); // those that call others first
    await database.close();
    rmSync(folder, { recursive: true });
  }
}

type Counts = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** Takes samples until the time has passed. Resolves to the series after the warm-up, and to what the processes have counted, by name. */
async function watch(
  children: readonly Child[],
  database: Database,
  lastsMs: number,
): Promise<{ readonly series: ReadonlyMap<string, Point[]>; readonly counts: Counts }> {
  const series = new Map<string, Point[]>();
  const startedAt = performance.now();
  const warmUpMs = Math.min(longestWarmUpMs, lastsMs * warmUpShare);
  const counts = new Map<string, Readonly<Record<string, number>>>();
  const everyMs = sampleEveryMs(lastsMs);
  for (let nextMs = everyMs; nextMs <= lastsMs; nextMs += everyMs) {
    await sleep(Math.max(0, startedAt + nextMs - performance.now()));
    const hours = (performance.now() - startedAt) / 3_600_000;
    const add = (owner: string, figures: Figures) => {
      if (nextMs < warmUpMs) return;
      for (const [name, value] of Object.entries(figures)) {
        const key = `${owner}: ${name}`;
        series.set(key, [...(series.get(key) ?? []), { hours, value }]);
      }
    };
    for (const child of children) {
      const sample = await child.sample(); // one after the other, so that their collections share no core
      counts.set(child.name, sample.counts);
      add(child.name, sample.figures);
    }
    add("database", await database.figures());
  }
  for (const [name, all] of counts)
    for (const [what, count] of Object.entries(all))
      console.log(`${name}: ${count.toLocaleString("en")} ${what}`);
  return { series, counts };
}

/** Says what a run lacks of its work: without it, a line that does not rise would show nothing. */
function missingWork(counts: Counts, minutes: number, perSecond: number): string[] {
  const of = (name: string, what: string) => counts.get(name)?.[what] ?? 0;
  const refused = Object.keys(counts.get("sender") ?? {}).filter((what) => /\b4\d\d\b/.test(what));
  const least = 0.9 * minutes * 60 * perSecond;
  const isLong = minutes >= 5; // a rotation takes more than a minute
  return [
    of("sender", "answers 202") < least && `Fewer than ${least} deliveries were acknowledged.`,
    refused.length > 0 && `Authentic deliveries were answered ${refused.join(", ")}.`,
    of("worker 1", "handled") + of("worker 2", "handled") < least &&
      `Fewer than ${least} events were handled.`,
    isLong && of("operator", "rotations") === 0 && "No rotation has ended.",
    isLong && of("operator", "events reconciled") === 0 && "No event was reconciled.",
  ].filter((sentence) => sentence !== false);
}

/** Prints the slope of each series. Returns whether none grows. */
function printSlopes(series: ReadonlyMap<string, readonly Point[]>): boolean {
  const printed = [...series].filter(([name]) => isPrinted(name));
  const first = printed[0]?.[1] ?? [];
  const minutes = ((first.at(-1)?.hours ?? 0) - (first[0]?.hours ?? 0)) * 60;
  console.log(
    `\nSlopes over the last ${minutes.toFixed(1)} minutes, ${first.length} samples: a change an hour, with its 95 % interval, and as a share of the mean. Below ${leastShare * 100} % of the mean an hour is noise.`,
  );
  const growing: string[] = [];
  for (const [name, points] of printed) {
    const { mean, perHour, plusMinus, verdict } = slopeOf(points);
    const [label = "", unit = ""] = name.split(", ");
    const share = mean === 0 ? 0 : (perHour / mean) * 100;
    const columns = [
      label.padEnd(30),
      `mean ${figure(mean)} ${unit}`.padEnd(22),
      `${perHour < 0 ? "" : "+"}${figure(perHour)} ± ${figure(plusMinus)} ${unit} an hour`.padEnd(38),
      `${share < 0 ? "" : "+"}${share.toFixed(1)} %`.padStart(9),
    ];
    console.log(`  ${columns.join(" ")}   ${verdict}`);
    if (verdict === "grows") growing.push(label);
  }
  console.log(growing.length === 0 ? "Nothing grows." : `These grow: ${growing.join("; ")}.`);
  return growing.length === 0;
}

/** The service and the sender are not ours: only the p99 of the answers is printed. */
function isPrinted(name: string): boolean {
  const [owner, label = ""] = name.split(": ");
  return processes.every(({ name, isOurs }) => isOurs || name !== owner) || label.startsWith("p99");
}

function figure(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 1 : 0 });
}
