import { setTimeout as pause } from "node:timers/promises";
import type { ReconcileReport } from "@esim-webhooks/endpoint";
import { expect, it, onTestFinished } from "vitest";
import { type Run, runNode } from "../../../../test/run.ts";
import { startWorld, type World } from "./world.ts";

const script = "packages/endpoint/test/reconcile/reconcile-process.ts";

function start({ sandbox, endpoint, path }: World, environment: Record<string, string> = {}): Run {
  const run = runNode([script], {
    BASE_URL: sandbox.url,
    CLIENT_ID: sandbox.credentials.clientId,
    CLIENT_SECRET: sandbox.credentials.clientSecret,
    ENDPOINT: endpoint,
    DATABASE: path,
    SINCE: new Date(Date.now() - 3_600_000).toISOString(),
    ...environment,
  });
  onTestFinished(() => void run.child.kill("SIGKILL"));
  return run;
}

async function kill({ child, ended }: Run): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

it("finishes what killed passes have left, with nothing missing and nothing twice", async () => {
  const world = await startWorld();
  const ids = [...(await world.emit(700, "stores")), ...(await world.emit(2500, "forgets"))];
  let kills = 0;
  for (; kills < 12; kills++) {
    const run = start(world);
    await run.line(/^begun/);
    await pause(Math.random() * 1500);
    await kill(run);
  }
  const last = start(world);
  const [, json = ""] = await last.line(/^pass (.*)/);
  const { ledger, recovered } = JSON.parse(json) as ReconcileReport;
  expect(ledger.stored).toBe(recovered.acknowledgedAndLost);
  expect(ledger.stored + ledger.duplicate).toBe(ledger.listed);
  await last.ended;
  expect(await world.stored()).toEqual(ids.toSorted());
  expect((await world.reconcile()).ledger).toMatchObject({ stored: 0, unsettled: 0 });
});

it("goes on in another process of a fleet when the one that made the passes is killed", async () => {
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
