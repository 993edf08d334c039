import { mkdirSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@esim-webhooks/client";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sampleData } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import { listen } from "../../test/listen.ts";
import type { RotatorPlace } from "../../test/under-fire/rotator.ts";
import { repeated } from "../fleets/findings.ts";
import { createFakeClock, type FakeClock } from "./faketime.ts";
import { readJournal, startCommanded, startFleetProcess } from "./fleet.ts";
import type { TrialResult } from "./trial.ts";

/** A clock fault in a rotation: how many seconds the clock of the first receiver, or of all our processes, is ahead. */
export interface RotationFault {
  readonly name: string;
  readonly receiver?: number;
  readonly all?: number;
  /** Whether the clocks are wrong before the rotation begins. Then it must refuse, if the receivers are apart from the rotating process. */
  readonly isBefore?: true;
  /** The code of the error with which it refuses. */
  readonly refusal?: string;
  /** Leases end early here, since the clocks are apart or jump ahead: events may run again. */
  readonly runsAgain?: true;
}

const hour = 3600;
const refused = { isBefore: true, refusal: "receivers_not_ready" } as const;

export const rotationFaults: readonly RotationFault[] = [
  { name: "no fault" },
  { name: "a receiver is a day ahead", receiver: 24 * hour, ...refused, runsAgain: true },
  { name: "a receiver is a day behind", receiver: -24 * hour, ...refused, runsAgain: true },
  { name: "all our clocks are a minute ahead", all: 60, isBefore: true },
  { name: "a receiver jumps a day ahead", receiver: 24 * hour, runsAgain: true },
  { name: "all our clocks jump 6 h ahead", all: 6 * hour, runsAgain: true },
  { name: "all our clocks jump 6 h back", all: -6 * hour, runsAgain: true }, // once they are right again
];

const patienceMs = 30_000;

/** The service, two receivers with workers on one SQLite file, and a process that rotates and reconciles. */
interface Rotating {
  /** The statuses that the service got, and how often. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Emits that many events. Resolves to their ids. */
  emit(count: number): Promise<readonly string[]>;
  /** Emits an event whose delivery has a wrong signature, so that the service gives it up. Resolves to its id. */
  lose(): Promise<readonly string[]>;
  /** Runs a command of `rotator.ts`. Resolves to the code of its error; "null" if it succeeded. */
  ask(command: string): Promise<string>;
  /** Whether the new key is stored, and the old one has not been removed. */
  isOverlap(): Promise<boolean>;
  /** Resolves when every event that is due was attempted. */
  settled(): Promise<unknown>;
  /** Lets the service send all that it still has to. */
  finish(): Promise<unknown>;
  /** The ids of the events whose handler has ended, each as often as it has. */
  handled(): readonly string[];
  close(): Promise<void>;
}

type Clocks = Readonly<Record<"first" | "second" | "rotator", FakeClock>>;

async function startRotating(folder: string, clocks: Clocks): Promise<Rotating> {
  const file = (name: string) => join(folder, name);
  const [journal, release, keyFile, at] = [file("journal"), file("release"), file("keys"), file("events.db")];
  for (const path of [journal, release]) writeFileSync(path, "");
  const sandbox = await startSandbox({ clock: "manual", switches: { rateLimit: "off" } });
  const closing: (() => Promise<unknown>)[] = [() => sandbox.close()];
  const urls: string[] = [];
  const statuses = new Map<number, number>();
  const balancer = await listen(balancing(urls, statuses), "/webhooks", async () => {});
  closing.push(() => balancer.close());
  const api = { baseUrl: sandbox.url, ...sandbox.credentials };
  const made = await createClient(api).webhooks.create({ url: balancer.url, eventTypes: ["esim.enabled"] });
  await fileKeySource(keyFile).write({ keys: [made.signingSecret] }, undefined);

  const task = { name: "", secret: "", keyFile, leaseMs: 3000, journal, release };
  for (const [process, clock] of [clocks.first, clocks.second].entries()) {
    const started = await startFleetProcess({ engine: "sqlite", at, ...task, process }, clock.environment);
    closing.push(started.kill);
    urls.push(started.url);
  }
  const rotatorPlace: RotatorPlace = { api, endpoint: made.webhookEndpointReference, keyFile, database: at };
  const ROTATOR = JSON.stringify(rotatorPlace);
  const rotator = startCommanded("rotator.ts", { ...clocks.rotator.environment, ROTATOR });
  closing.push(rotator.kill);
  await rotator.answer();

  async function emit(count: number): Promise<readonly string[]> {
    const event = { type: "esim.enabled", data: sampleData("esim.enabled") };
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push(...(await sandbox.emit(event)));
    return ids;
  }

  return {
    statuses,
    emit,
    lose() {
      sandbox.faults.add({ kind: "wrong_signature" });
      return emit(1);
    },
    async ask(command) {
      rotator.command(command);
      return rotator.answer();
    },
    async isOverlap() {
      const stored = await fileKeySource(keyFile).read();
      return (stored?.record.keys.length ?? 0) > 1;
    },
    settled: () => sandbox.settled(),
    finish: () => sandbox.advance("16h"),
    handled: () =>
      readJournal(journal)
        .filter(({ word }) => word === "end")
        .map(({ id }) => id),
    async close() {
      for (const close of closing.reverse()) await close();
    },
  };
}

/** Sends each request to the next of these receivers, and counts the answers to the service. */
function balancing(urls: readonly string[], statuses: Map<number, number>): RequestListener {
  let attempts = 0;
  return async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Object.entries(request.headers).filter(([name]) => /^webhook-|^content-type$/.test(name));
    const headers = sent.map(([name, value]): [string, string] => [name, String(value)]);
    const body = Buffer.concat(chunks);
    const answer = await fetch(urls[attempts++ % urls.length] ?? "", { method: "POST", headers, body });
    if (request.headers["user-agent"] === "esim-webhooks-sandbox")
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
}

/** Rotates and reconciles while clocks are wrong. The service's clock is right. */
export async function tryRotation(folder: string, fault: RotationFault): Promise<TrialResult> {
  mkdirSync(folder, { recursive: true });
  const [first, second, rotator] = ["first", "second", "rotator"].map((name) =>
    createFakeClock(folder, name),
  ) as [FakeClock, FakeClock, FakeClock];
  const setClocks = ({ all = 0, receiver = all }: Partial<RotationFault>) => {
    first.set(receiver);
    second.set(all);
    rotator.set(all);
  };
  const rotating = await startRotating(folder, { first, second, rotator });
  const { ask, emit, lose, handled } = rotating;
  const broken: string[] = [];
  const expectCode = async (step: string, asked: Promise<string>, expected: string) => {
    const code = await asked;
    if (code !== expected) broken.push(`${step} ended with ${code} instead of ${expected}.`);
  };
  try {
    const since = new Date(Date.now() - 60_000).toISOString();
    await expectCode("The first pass", ask(`reconcile ${since}`), "null");
    if (fault.isBefore) setClocks(fault);
    const emitted = [...(await emit(10))];
    const missing = () => emitted.filter((id) => !handled().includes(id)).length;
    const untilHandled = async () => {
      for (const giveUpAt = performance.now() + patienceMs; missing() > 0 && performance.now() < giveUpAt; )
        await pause(100);
    };
    const rotation = ask("rotate");
    rotation.catch(() => {}); // it ends with the process, also when the trial has failed before
    if (!fault.isBefore) {
      for (const giveUpAt = performance.now() + patienceMs; !(await rotating.isOverlap()); await pause(20))
        if (performance.now() > giveUpAt) throw new Error("The rotation has not stored its new key.");
      setClocks(fault);
    }
    emitted.push(...(await emit(20)));
    await rotating.settled();
    if (!fault.isBefore) setClocks({}); // set back, a rotation waits for the end of the old keys for as long
    await expectCode("The rotation", rotation, fault.refusal ?? "null");
    emitted.push(...(await emit(10)));
    await rotating.settled();
    if (!fault.runsAgain) await untilHandled(); // the clocks are apart while they are set
    setClocks(fault);
    emitted.push(...(await lose()));
    await rotating.settled();
    await expectCode("The pass at wrong clocks", ask("reconcile"), "null");
    setClocks({});
    if (fault.refusal !== undefined) await expectCode("The second rotation", ask("rotate"), "null");
    await rotating.finish();
    await expectCode("The last pass", ask("reconcile"), "null");

    await untilHandled();
    if (missing() > 0) broken.push(`${missing()} events were not handled.`);
    const again = repeated(handled());
    if (again.length > 0 && !fault.runsAgain)
      broken.push(`${again.join(", ")} ran again though no lease had ended.`);
    const answers = [...rotating.statuses].sort(([a], [b]) => a - b);
    // one 401 is that of the lost event
    const wrong = answers.filter(
      ([status, count]) => status >= 400 && status < 500 && (status !== 401 || count > 1),
    );
    if (wrong.length > 0) broken.push(`Authentic deliveries were answered ${wrong.join(", ")}.`);
    return { broken, seen: answers.map(([status, count]) => `${count} × ${status}`).join(", ") };
  } finally {
    await rotating.close();
  }
}
