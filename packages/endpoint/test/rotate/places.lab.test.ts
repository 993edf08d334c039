import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RotationReport, reconcile, rotateSecret } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { runNode } from "../../../../test/run.ts";
import { startPostgres, startRedis } from "../../../../test/servers/index.ts";
import { killedAt } from "../ensure/killed-at.ts";
import { fastClock } from "../fast-clock.ts";
import { knownInbox } from "../reconcile/memory-state.ts";
import { openPlace, type Place, placeKinds } from "./place.ts";
import { type Rotating, rotatingWith } from "./rotating.ts";
import type { Task } from "./rotating-process.ts";

interface World extends Rotating {
  readonly place: Place;
}

async function makePlace(kind: Place["kind"], resources: AsyncDisposableStack): Promise<Place> {
  if (kind === "Postgres" || kind === "Redis") {
    const server = await (kind === "Postgres" ? startPostgres() : startRedis());
    resources.defer(() => server.close());
    return { kind, at: server.url };
  }
  const at = await mkdtemp(join(tmpdir(), `rotate-${randomUUID()}`));
  resources.defer(() => rm(at, { recursive: true }));
  return { kind, at };
}

/** A receiver whose keys are in a place of this kind, and an endpoint that was reconciled with the state in it. */
async function startAt(kind: Place["kind"]): Promise<World> {
  const resources = new AsyncDisposableStack();
  const place = await makePlace(kind, resources);
  const { keys, state } = resources.use(openPlace(place));
  await state.migrate?.();
  const world = await rotatingWith(keys, resources);
  await reconcile(world.api, world.endpoint, knownInbox() as never, { state, since: new Date() });
  return { ...world, place };
}

/** What the key store has when no rotation is under way: the endpoint's only key. */
const onlyKey = ({ endpoint }: World) => ({ keys: [{ secret: expect.any(String), endpoint }] });

it.concurrent.each(placeKinds)(
  "a rotation with its keys in %s is finished by the next run, wherever a run was killed: no event is lost or handled twice",
  async (kind) => {
    await using world = await startAt(kind);
    const { api, endpoint, place, sandbox } = world;

    /** A run with connections of its own. Ends at this moment. */
    async function run(fatal: number): Promise<RotationReport | "killed"> {
      await using open = openPlace(place);
      const process = killedAt(fatal, api, open.keys);
      const { state } = open;
      const rotated = rotateSecret(process.api, endpoint, process.keyStore, {
        clock: fastClock(),
        state,
        reconcile: ({ signal }) => reconcile(api, endpoint, knownInbox() as never, { state, signal }),
      });
      return await Promise.race([rotated, process.killed]);
    }

    const emitted: string[] = [];
    const continued = new Set<string | null>();
    let moment = 0;
    for (; (await run(moment)) === "killed"; moment += 1) {
      emitted.push(await world.emit());
      const report = await run(Number.POSITIVE_INFINITY);
      if (report === "killed") throw new Error("Nothing kills this run.");
      continued.add(report.continued);
      expect(report.reconciled).toMatchObject({ interrupted: false });
      expect((await world.keys.read())?.record).toEqual(onlyKey(world));
      emitted.push(await world.emit());
    }
    expect(moment).toBe(10); // before and after each of four writes and a call
    expect([...continued]).toEqual([null, "call", "stored"]);
    await sandbox.advance("1h"); // what was held off comes again
    expect(world.handled.toSorted()).toEqual(emitted.toSorted());
  },
);

it.each(placeKinds)(
  "of two processes that rotate concurrently, with the keys in %s, both end well or one refuses, and one key is left",
  async (kind) => {
    await using world = await startAt(kind);
    const { sandbox, endpoint, place } = world;
    const task: Task = { api: { baseUrl: sandbox.url, ...sandbox.credentials }, endpoint, place };
    const script = join(import.meta.dirname, "rotating-process.ts");
    const both = [1, 2].map(() => runNode([script, JSON.stringify(task)]));
    await Promise.all(both.map(({ line }) => line(/^ready$/)));
    for (const { child } of both) child.kill("SIGUSR2");
    const outcomes = await Promise.all(both.map(async ({ ended }) => (await ended).output.split("\n")[1]));
    expect(outcomes).toContain("rotated");
    for (const outcome of outcomes) expect(["rotated", "change_under_way"]).toContain(outcome);
    expect((await world.keys.read())?.record).toEqual(onlyKey(world));
    const id = await world.emit();
    expect(world.handled).toEqual([id]);
  },
);
