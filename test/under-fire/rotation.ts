import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import { createClient } from "@esim-webhooks/client";
import { createWorker, nodeHandler } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sampleData } from "@esim-webhooks/core/testing";
import type { ReconcileReport } from "@esim-webhooks/endpoint";
import { startSandbox } from "@esim-webhooks/sandbox";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../listen.ts";
import { afterCall, openRotator, type RotatorPlace } from "./rotator.ts";

export interface Fire {
  readonly rotations: number;
  /** How many events the service makes in one burst. When all were attempted, its clock moves on, by an hour at most, and the next ones are made. */
  readonly burst: number;
  /** How many times as fast as real time the service's clock runs on average: its ten attempts take 15 h 51 min 30 s of it. */
  readonly speed: number;
  /** At which of its `moments` a rotation is killed, before it is run again; undefined: it is not killed. */
  killAt(rotation: number): number | undefined;
}

/** The chance that a receiver fails, so that deliveries are at all of their ten attempts. */
const failing = 0.6;
/** The number of events of which one is refused at each attempt, until the service gives it up. */
const refusedOneIn = 10;
/** How much of its clock the service skips in one step, at most, in ms. */
const mostSkippedMs = 3_600_000;

/** Rotates under load, and kills the rotating process at a moment of some rotations. */
export function rotationUnderFire({ rotations, burst, speed, killAt }: Fire): void {
  it(`misses no event and handles none twice through ${rotations} rotations under bursts of ${burst} events; some rotations are killed and run again`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "rotation-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [keyFile, database] = [join(folder, "keys"), join(folder, "inbox.db")];
    const sandbox = await startSandbox({ clock: "manual", switches: { rateLimit: "off" } });
    onTestFinished(() => sandbox.close());

    const inbox = sqliteInbox({ path: database, timeoutMs: 60_000 });
    onTestFinished(() => inbox.close());
    await inbox.ready();
    const effects = new Map<string, number>();
    const worker = createWorker(inbox, { "*": ({ id }) => void effects.set(id, (effects.get(id) ?? 0) + 1) });
    const stopping = new AbortController();
    const working = worker.run({ signal: stopping.signal });
    onTestFinished(async () => {
      stopping.abort();
      await working;
    });

    const receivers = [1, 2].map(() => nodeHandler(inbox, { secret: fileKeySource(keyFile) }));
    const statuses = new Map<number, number>();
    const balancer: RequestListener = (request, response) => {
      response.on("finish", () =>
        statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1),
      );
      const isRefused = crc32(String(request.headers["webhook-id"])) % refusedOneIn === 0;
      if (isRefused || Math.random() < failing) response.writeHead(500).end();
      else receivers[Math.random() < 0.5 ? 0 : 1]?.(request, response);
    };
    const server = await listen(balancer, "/webhooks", async () => {});
    onTestFinished(async () => {
      await server.close();
      await Promise.all(receivers.map((receiver) => receiver.close()));
    });

    const credentials = { baseUrl: sandbox.url, ...sandbox.credentials };
    const made = await createClient(credentials).webhooks.create({
      url: server.url,
      eventTypes: ["esim.enabled"],
    });
    await fileKeySource(keyFile).write({ keys: [made.signingSecret] }, undefined);
    const place: RotatorPlace = {
      api: credentials,
      endpoint: made.webhookEndpointReference,
      keyFile,
      database,
    };

    const rotator = openRotator(place);
    onTestFinished(() => rotator.close());
    await rotator.reconcile(new Date(Date.now() - 60_000)); // from here on the watermark says how far back to look

    const emitted: string[] = [];
    const enough = new AbortController();
    // moved by the test, so that it waits for a slow machine: otherwise the service would forget events that it has not sent ten times
    const traffic = (async () => {
      while (!enough.signal.aborted) {
        const startedAt = performance.now();
        for (let made = 0; made < burst; made += 1)
          emitted.push(...(await sandbox.emit({ type: "esim.enabled", data: sampleData("esim.enabled") })));
        await sandbox.settled();
        const skippedMs = Math.round((performance.now() - startedAt) * speed);
        await sandbox.advance(Math.min(mostSkippedMs, skippedMs));
      }
    })();

    const passes: ReconcileReport[] = [];
    const continued = new Set<string | null>();
    for (let rotation = 0; rotation < rotations; rotation++) {
      const moment = killAt(rotation);
      if (moment !== undefined) await rotateUntil(moment, place);
      // deliveries come before their key
      if (moment === afterCall)
        await expect.poll(() => statuses.get(503) ?? 0, { timeout: 60_000 }).toBeGreaterThan(0);
      const report = await rotator.rotate();
      continued.add(report.continued);
      if (report.reconciled !== null) passes.push(report.reconciled);
    }
    enough.abort();
    await traffic;
    expect((await fileKeySource(keyFile).read())?.record).toEqual({
      keys: [{ secret: expect.any(String), endpoint: place.endpoint }],
    });

    await sandbox.advance("16h"); // nothing is coming now
    passes.push(await rotator.reconcile());
    for (const { ledger } of passes) expect(balanceOf(ledger)).toBe(0);
    expect(passes.map(({ recovered }) => recovered.acknowledgedAndLost).filter(Boolean)).toEqual([]);
    await expect
      .poll(() => emitted.filter((id) => !effects.has(id)), { interval: 500, timeout: 300_000 })
      .toEqual([]);
    expect(emitted.filter((id) => effects.get(id) !== 1)).toEqual([]);

    expect([...continued]).toEqual(expect.arrayContaining([null, "call", "stored"]));
    expect(statuses.get(503)).toBeGreaterThan(0); // deliveries came before their key
    expect(passes.reduce((sum, { recovered }) => sum + recovered.missed, 0)).toBeGreaterThan(0);
  });
}

/** Rotates in a process that kills itself at the moment; it may end before, if the moment does not come. */
async function rotateUntil(moment: number, place: RotatorPlace): Promise<void> {
  const script = fileURLToPath(new URL("./rotating-process.ts", import.meta.url));
  const args = ["--conditions=@esim-webhooks/source", script, JSON.stringify(place), String(moment)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  expect([code, signal]).toEqual(signal === null ? [0, null] : [null, "SIGKILL"]);
}

/** Returns the difference between the two sides of a ledger. */
function balanceOf({ listed, ...others }: ReconcileReport["ledger"]): number {
  return listed - Object.values(others).reduce((sum, one) => sum + one, 0);
}
