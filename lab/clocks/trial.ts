import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { newSecret } from "@esim-webhooks/core/testing";
import type { EngineName } from "../engines.ts";
import type { Engine, Watched } from "./engines.ts";
import { createFakeClock, type FakeClock } from "./faketime.ts";
import type { ClockFault, Shift } from "./faults.ts";
import { type FleetProcess, type Noted, readJournal, startFleetProcess } from "./fleet.ts";
import { createSender, type Sender, type SentEvent } from "./sender.ts";

/** The outcome of a trial. */
export interface TrialResult {
  /** The promises that were broken, a sentence each. */
  readonly broken: readonly string[];
  /** A summary of the answers and of events that ran again, for its line. */
  readonly seen: string;
}

/** An engine, and where its trials put their files. */
export interface Setup {
  readonly engineName: EngineName;
  readonly engine: Engine;
  readonly serverClock: FakeClock;
  readonly folder: string;
}

const leaseMs = 6000; // a machine that is busy delays a renewal by seconds
const pauseSeconds = 3;
/** The longest time that any step may take, so that none waits indefinitely, in ms. */
const patienceMs = 120_000;
const processes = 3;

const events = (kind: string, type: SentEvent["type"], count: number): SentEvent[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${kind}_${n}`, type }));
const held = events("held", "esim.deleted", 9);
const early = [
  ...events("quick", "esim.enabled", 20),
  ...events("fails", "esim.disabled", 4),
  ...events("paused", "esim.installed", 4),
];
const late = events("late", "esim.enabled", 8);

/** The clocks of a trial: of each process, of the server, and the right one. */
interface Clocks {
  readonly fleet: readonly FakeClock[];
  set(shift: Shift): void;
  now(): number;
  /** Moves all clocks, also the right one, to this many ms before the time of the fault, if it has one. */
  approach(ms: number): void;
}

function createClocks({ folder, serverClock }: Setup, { speeds, at }: ClockFault): Clocks {
  const fleet = Array.from({ length: processes }, (_, n) =>
    createFakeClock(folder, `process-${n}`, speeds?.[n] ?? 1),
  );
  let baseMs = 0;
  function set({ fleet: all = 0, first = 0, server = 0 }: Shift): void {
    for (const [n, clock] of fleet.entries()) clock.set(baseMs / 1000 + all + (n === 0 ? first : 0));
    serverClock.set(baseMs / 1000 + server);
  }
  return {
    fleet,
    set,
    now: () => Date.now() + baseMs,
    approach(ms) {
      if (at === undefined) return;
      baseMs = at.getTime() - ms - Date.now();
      set({});
    },
  };
}

/** Runs a fleet through one clock fault. */
export async function tryFault(setup: Setup, fault: ClockFault, number: number): Promise<TrialResult> {
  const { engineName, engine } = setup;
  const folder = join(setup.folder, `${engineName}-${number}`);
  mkdirSync(folder, { recursive: true });
  const [journal, release, secret] = [join(folder, "journal"), join(folder, "release"), newSecret()];
  writeFileSync(journal, "");
  const clocks = createClocks({ ...setup, folder }, fault);
  clocks.set(fault.from ?? {});
  clocks.approach(60_000);
  const [at, name] = [engine.at(folder), `trial_${number}`];
  const task = { engine: engineName, at, name, secret, leaseMs, journal, release };
  const timeZone = fault.timeZone === undefined ? {} : { TZ: fault.timeZone };
  const fleet: FleetProcess[] = [];
  const closing: (() => unknown)[] = [];
  try {
    for (const [process, { environment }] of clocks.fleet.entries()) {
      const started = await startFleetProcess({ ...task, process }, { ...environment, ...timeZone });
      closing.push(started.kill);
      fleet.push(started);
    }
    const watched = await engine.watch(at, name);
    closing.push(watched.close);
    const sender = createSender(
      fleet.map(({ url }) => url),
      secret,
      clocks.now,
    );
    closing.push(sender.stop);
    return await runTrial({ setup, fault, clocks, fleet, watched, sender, journal, release });
  } finally {
    for (const close of closing.reverse()) await close();
    clocks.set({});
    setup.serverClock.set(0);
  }
}

interface Trial {
  readonly setup: Setup;
  readonly fault: ClockFault;
  readonly clocks: Clocks;
  readonly fleet: readonly FleetProcess[];
  readonly watched: Watched;
  readonly sender: Sender;
  readonly journal: string;
  readonly release: string;
}

async function runTrial(trial: Trial): Promise<TrialResult> {
  const { setup, fault, clocks, fleet, watched, sender, journal, release } = trial;
  const broken: string[] = [];
  const has = (list: readonly EngineName[] | undefined) => list?.includes(setup.engineName) === true;
  const starts = () => readJournal(journal).filter(({ word }) => word === "start");
  const isStarted = (id: string) => starts().some((noted) => noted.id === id);
  const promise = async (sentence: string, isKept: () => boolean | Promise<boolean>) => {
    if (!(await isSoon(isKept))) broken.push(sentence);
  };
  const expectEnd = (sentence: string, ending: Promise<unknown> | undefined) => {
    const hasEnded = ending?.then(() => true) ?? true;
    return promise(sentence, () => Promise.race([hasEnded, pause(0, false)]));
  };
  async function untilDone(wanted: readonly SentEvent[], when: string): Promise<void> {
    let left: readonly string[] = [];
    const areDone = async () => {
      const noneYet = () => new Set<string>(); // libfaketime may end a process of Postgres, which then recovers
      const done = (await watched.done().catch(noneYet)) ?? sender.acknowledged;
      left = wanted.map(({ id }) => id).filter((id) => !done.has(id));
      return left.length === 0;
    };
    if (!(await isSoon(areDone))) broken.push(`${left.join(", ")} were not done ${when}.`);
  }

  clocks.approach(2000);
  const hasPause = setup.engineName === "sqlite" || setup.engineName === "postgres";
  if (hasPause) {
    fleet[1]?.command(`pause ${pauseSeconds}`);
    await fleet[1]?.answer();
  }
  const sent = sender.send([...held, ...early]);
  await promise("Not all handlers that are held have started.", () => held.every(({ id }) => isStarted(id)));
  const stored = [...held, ...early];
  const isSlow = fault.speeds?.some((speed) => speed < 0.5) === true;
  const isInline = setup.engineName === "redis";
  if (!isSlow && !isInline)
    // a delivery that arrives later is held off until the clocks are right
    await promise("Not all events were stored.", () => stored.every(({ id }) => sender.acknowledged.has(id)));

  for (const step of fault.steps ?? []) {
    clocks.set(step);
    await pause(400);
  }
  const sentLate = sender.send(late);
  await pause(1.5 * leaseMs); // all leases would have ended without a renewal
  fleet[0]?.command("purge");
  await expectEnd("The purge has not ended.", fleet[0]?.answer());
  await fleet.at(-1)?.kill();
  const killed = fleet.length - 1;
  writeFileSync(release, "");
  const waiting = fault.waits?.[setup.engineName] ?? [];
  const free = stored.filter(({ id }) => !waiting.some((kind) => id.startsWith(kind)));
  if (!isSlow && !isInline) await untilDone(free, "while the clocks were wrong");

  if (isSlow) await fleet[0]?.kill();
  if (!fault.stays) clocks.set({});
  await expectEnd("Not all deliveries were acknowledged.", Promise.all([sent, sentLate]));
  await untilDone([...stored, ...late], "after the clocks were right");

  const noted = readJournal(journal);
  await expectEnd("Not all redeliveries were acknowledged.", sender.send([...stored, ...late]));
  await pause(500);
  const repeated = starts().length - noted.filter(({ word }) => word === "start").length;
  if (repeated > 0 && !has(fault.forgets)) broken.push(`${repeated} redelivered events were handled again.`);

  for (const sentence of (await watched.unexplained()).slice(0, 3)) broken.push(sentence);
  const extra = unexplainedStarts(noted, [killed, ...(isSlow ? [0] : [])]);
  if (extra.length > 0 && !has(fault.runsAgain) && !has(fault.forgets))
    broken.push(`${extra.join(", ")} ran again though no lease had ended.`);
  const afterDone = noted.filter(({ word, state }) => word === "start" && state === "done");
  if (afterDone.length > 0 && !isSlow)
    // a slow process may start a handler long after its lease
    broken.push(`${afterDone.map(({ id }) => id).join(", ")} started though it was done.`);
  const wrong = [...sender.statuses.keys()].filter((status) => status >= 400 && status < 500);
  if (wrong.length > 0) broken.push(`Authentic deliveries were answered ${wrong.join(", ")}.`);
  return { broken, seen: summary(sender, extra.length, repeated) };
}

/** The events whose handler started more often than failures and killed processes explain. */
function unexplainedStarts(noted: readonly Noted[], killed: readonly number[]): string[] {
  const surplus = new Map<string, number>();
  const add = (id: string, change: number) => surplus.set(id, (surplus.get(id) ?? -1) + change);
  const ofKilled = (word: Noted["word"]) => (one: Noted) => killed.includes(one.process) && one.word === word;
  for (const { word, id } of noted) {
    if (word === "start") add(id, 1);
    if (word === "fail") add(id, -1);
  }
  for (const { id } of noted.filter(ofKilled("start"))) add(id, -1);
  for (const word of ["end", "fail"] as const) for (const { id } of noted.filter(ofKilled(word))) add(id, 1);
  return [...surplus].filter(([, count]) => count > 0).map(([id]) => id);
}

function summary(sender: Sender, extra: number, repeated: number): string {
  const answered = [...sender.statuses].filter(([status]) => status !== 0); // 0: the killed process
  const statuses = answered.sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  const more = [
    ...(extra > 0 ? [`${extra} events ran again`] : []),
    ...(repeated > 0 ? [`${repeated} redeliveries ran again`] : []),
  ];
  return [statuses.join(", "), ...more].join("; ");
}

/** Whether something becomes true within `patienceMs`. */
async function isSoon(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const giveUpAt = performance.now() + patienceMs; performance.now() < giveUpAt; await pause(100))
    if (await isSo()) return true;
  return false;
}
