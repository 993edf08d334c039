import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import type { ReconcileReport } from "@esim-webhooks/endpoint";
import { expect, it, onTestFinished } from "vitest";
import type { Run } from "../../../../test/run.ts";
import { runInTest } from "../../../../test/support/run-in-test.ts";
import { startWorld, type World } from "./world.ts";

const script = "packages/endpoint/test/reconcile/reconcile-process.ts";

function start({ sandbox, endpoint, path }: World, environment: Record<string, string> = {}): Run {
  return runInTest([script], {
    BASE_URL: sandbox.url,
    CLIENT_ID: sandbox.credentials.clientId,
    CLIENT_SECRET: sandbox.credentials.clientSecret,
    ENDPOINT: endpoint,
    DATABASE: path,
    SINCE: new Date(Date.now() - 3_600_000).toISOString(),
    ...environment,
  });
}

async function kill({ child, ended }: Run): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/**
 * Makes passes that are killed: each second one at a random time, the others after so much of their work. Resolves to how many
 * kills were in the middle of a pass, which had recovered some of what was missing, and not all.
 */
async function makeKilledPasses(
  world: World,
  environment: Record<string, string>,
  killAt: () => number,
  broughtIn: () => Promise<number>,
  missing: number,
): Promise<number> {
  let inTheMiddle = 0;
  for (let kills = 0; kills < 12; kills++) {
    const before = await broughtIn();
    const isRandom = kills % 2 === 1;
    const run = start(world, { ...environment, ...(!isRandom && { KILL_AT: String(killAt()) }) });
    await run.line(/^begun/);
    if (isRandom) {
      await pause(Math.random() * 1500);
      await kill(run);
    }
    await run.ended;
    const after = await broughtIn();
    if (run.child.signalCode === "SIGKILL" && after > before && after < missing) inTheMiddle += 1;
  }
  return inTheMiddle;
}

async function lastPass(world: World, environment: Record<string, string> = {}): Promise<ReconcileReport> {
  const last = start(world, { ...environment, LEASE_MS: "60000" }); // it is not killed
  const [, json = ""] = await last.line(/^pass (.*)/);
  await last.ended;
  return JSON.parse(json) as ReconcileReport;
}

it("finishes what killed passes have left, with nothing missing and nothing twice", async () => {
  const world = await startWorld();
  const arrived = await world.emit(700, "stores");
  const ids = [...arrived, ...(await world.emit(2500, "forgets"))];
  const broughtIn = async () => (await world.stored()).length - arrived.length;
  const killAt = () => 1 + Math.floor(Math.random() * 400);
  expect(await makeKilledPasses(world, {}, killAt, broughtIn, 2500)).toBeGreaterThan(0);
  const { ledger, recovered } = await lastPass(world);
  expect(ledger).toMatchObject({ listed: 3200, coming: 0 });
  expect(ledger.stored).toBe(recovered.acknowledgedAndLost);
  expect(ledger.stored + ledger.duplicate).toBe(ledger.listed);
  expect(await world.stored()).toEqual(ids.toSorted());
  expect((await world.reconcile()).ledger).toMatchObject({ stored: 0, unsettled: 0 });
});

it("lets every event take effect once, when passes are killed whose handlers write in the store's transaction", async () => {
  const world = await startWorld();
  const ids = await world.emit(1500, "forgets");
  const database = new DatabaseSync(world.path, { timeout: 60_000 });
  onTestFinished(() => database.close());
  database.exec("CREATE TABLE effects (id TEXT NOT NULL)"); // also takes an id twice
  const effects = () =>
    database
      .prepare("SELECT id FROM effects ORDER BY id")
      .all()
      .map(({ id }) => id);
  const broughtIn = async () => effects().length;
  const killAt = () => 2 + Math.floor(Math.random() * 150);
  const environment = { EFFECTS: "yes" };
  expect(await makeKilledPasses(world, environment, killAt, broughtIn, ids.length)).toBeGreaterThan(0);
  const { ledger } = await lastPass(world, environment);
  expect(ledger).toMatchObject({ listed: 1500, rejected: 0, unsettled: 0 });
  expect(effects()).toEqual(ids.toSorted());
  expect((await lastPass(world, environment)).ledger).toMatchObject({ stored: 0, unsettled: 0 });
});

it("continues in another process of a fleet when the one that made the passes is killed", async () => {
  const world = await startWorld();
  await world.emit(3, "forgets");
  const everyMs = { EVERY_MS: "300" };
  const one = start(world, everyMs);
  await one.line(/^pass/);
  const other = start(world, everyMs);
  await other.line(/^begun/);
  const lost = await world.emit(2, "forgets");
  await expect.poll(() => world.stored()).toEqual(expect.arrayContaining(lost));
  await kill(one);
  const more = await world.emit(2, "forgets");
  await expect.poll(() => world.stored()).toEqual(expect.arrayContaining(more));
  expect(await world.stored()).toHaveLength(7);
});
