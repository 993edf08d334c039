import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@esim-webhooks/client";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sampleData } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import { listen } from "../../test/listen.ts";
import type { RotatorPlace } from "../../test/under-fire/rotator.ts";
import { createFakeClock } from "./faketime.ts";
import { readJournal, startPartner, startProgram } from "./fleet.ts";
import type { TrialResult } from "./trial.ts";

/** A clock fault in the middle of a rotation: how many seconds the clocks of the first receiver, of both, or of all our processes are ahead. */
export interface RotationFault {
  readonly name: string;
  readonly receiver?: number;
  readonly receivers?: number;
  readonly all?: number;
  /** Whether the clocks are wrong before the rotation begins. Then it must refuse, if the receivers are apart from the rotating process. */
  readonly isBefore?: true;
  /** The code of the error with which it refuses. */
  readonly refusal?: string;
}

const hour = 3600;

export const rotationFaults: readonly RotationFault[] = [
  { name: "no fault" },
  { name: "a receiver is a day ahead", receiver: 24 * hour, isBefore: true, refusal: "receivers_not_ready" },
  {
    name: "a receiver is a day behind",
    receiver: -24 * hour,
    isBefore: true,
    refusal: "receivers_not_ready",
  },
  { name: "all our clocks are a minute ahead", all: 60, isBefore: true },
  { name: "a receiver jumps a day ahead", receiver: 24 * hour },
  { name: "all our clocks jump 6 h ahead", all: 6 * hour },
  { name: "all our clocks jump 6 h back", all: -6 * hour },
];

const lastEndMs = 30_000;

/** Rotates and reconciles while the clocks of two receivers and of the rotating process are wrong, on SQLite. The service's clock is right. */
export async function tryRotation(folder: string, fault: RotationFault): Promise<TrialResult> {
  mkdirSync(folder, { recursive: true });
  const file = (name: string) => join(folder, name);
  const [journal, keyFile, at] = [file("journal"), file("keys"), file("events.db")];
  writeFileSync(journal, "");
  writeFileSync(file("release"), "");
  const [first, second, own] = ["first", "second", "rotator"].map((name) => createFakeClock(folder, name));
  const setClocks = ({ all = 0, receivers = all, receiver = receivers }: Omit<RotationFault, "name">) => {
    first?.set(receiver);
    second?.set(receivers);
    own?.set(all);
  };

  const sandbox = await startSandbox({ clock: "manual", switches: { rateLimit: "off" } });
  const closing: (() => Promise<unknown>)[] = [() => sandbox.close()];
  try {
    const credentials = { baseUrl: sandbox.url, ...sandbox.credentials };
    const statuses = new Map<number, number>();
    const urls: string[] = [];
    let attempts = 0;
    const balancer = await listen(
      async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const url = urls[attempts++ % urls.length] ?? "";
        const headers = Object.entries(request.headers).filter(([name]) =>
          /^webhook-|^content-type$/.test(name),
        );
        const answer = await fetch(url, {
          method: "POST",
          headers: headers.map(([name, value]) => [name, String(value)]),
          body: Buffer.concat(chunks),
        });
        if (request.headers["user-agent"] === "esim-webhooks-sandbox")
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
      },
      "/webhooks",
      async () => {},
    );
    closing.push(() => balancer.close());
    const made = await createClient(credentials).webhooks.create({
      url: balancer.url,
      eventTypes: ["esim.enabled"],
    });
    await fileKeySource(keyFile).write({ keys: [made.signingSecret] }, undefined);

    const place = { engine: "sqlite", at, name: "", secret: "", keyFile, leaseMs: 3000, journal } as const;
    for (const [process, clock] of [first, second].entries()) {
      const partner = await startPartner(
        { ...place, process, release: file("release") },
        clock?.environment ?? {},
      );
      closing.push(partner.kill);
      urls.push(partner.url);
    }
    const rotatorPlace: RotatorPlace = {
      api: credentials,
      endpoint: made.webhookEndpointReference,
      keyFile,
      database: at,
    };
    const rotator = startProgram("rotator.ts", {
      ...own?.environment,
      ROTATOR: JSON.stringify(rotatorPlace),
    });
    closing.push(rotator.kill);
    await rotator.answer();
    const ask = async (command: string): Promise<unknown> => {
      rotator.command(command);
      return (JSON.parse(await rotator.answer()) as { code: unknown }).code;
    };
    const broken: string[] = [];
    const emitted: string[] = [];
    const emit = async (count: number) => {
      for (let n = 0; n < count; n += 1)
        emitted.push(...(await sandbox.emit({ type: "esim.enabled", data: sampleData("esim.enabled") })));
    };

    const expectCode = (step: string, code: unknown, expected: unknown) => {
      if (code !== expected) broken.push(`${step} ended with ${code} instead of ${expected}.`);
    };
    expectCode("The first pass", await ask(`reconcile ${new Date(Date.now() - 60_000).toISOString()}`), null);
    if (fault.isBefore) setClocks(fault);
    await emit(10);
    const rotating = ask("rotate");
    if (!fault.isBefore) {
      await pause(300); // in the middle: a rotation takes seconds, since one look at the deliveries is a wait
      setClocks(fault);
    }
    await emit(20);
    expectCode("The rotation", await rotating, fault.refusal ?? null);
    await emit(10);
    await sandbox.settled();
    setClocks({});
    if (fault.refusal !== undefined) expectCode("The second rotation", await ask("rotate"), null);
    await sandbox.advance("16h");
    expectCode("The last pass", await ask("reconcile"), null);
    const handled = () =>
      readJournal(journal)
        .filter(({ word }) => word === "end")
        .map(({ id }) => id);
    const missing = () => emitted.filter((id) => !handled().includes(id));
    for (
      const giveUpAt = performance.now() + lastEndMs;
      missing().length > 0 && performance.now() < giveUpAt;
    )
      await pause(100);
    if (missing().length > 0) broken.push(`${missing().length} events were not handled.`);
    const twice = emitted.filter((id) => handled().filter((one) => one === id).length > 1);
    if (twice.length > 0 && fault.all === undefined)
      broken.push(`${twice.length} events were handled twice.`);
    const shown = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
    return { broken, seen: shown.join(", ") };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}
