import { createWorker, eraseSubject, type InboxGauges } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { entry, key } from "../inbox-entry.ts";
import type { OperatedInbox, WorkedInbox } from "./engines.ts";
import { createPlace, type Place, redisPlace, worked } from "./places.ts";

const many = 20_000;
const paused = "esim.balance.updated";

async function putMany(
  inbox: OperatedInbox,
  count: number,
  options: Parameters<typeof entry>[1],
): Promise<void> {
  for (let from = 0; from < count; from += 1000)
    await inbox.put(
      Array.from({ length: Math.min(1000, count - from) }, (_, n) => entry(`msg_${from + n}`, options)),
    );
}

const counts = async (inbox: OperatedInbox): Promise<InboxGauges["counts"]> => (await inbox.gauges()).counts;

const isPartlyHeld = async (inbox: OperatedInbox) => {
  const { ready, paused: held } = await counts(inbox);
  return ready > 0 && held > 0;
};

/** Whether the pause has ended. Gauges cannot show how many events are still held: they count as ready. */
const isResumed = async (inbox: OperatedInbox) => (await inbox.paused()).length === 0;

const isPartlyErased = async (inbox: OperatedInbox) => {
  const { states } = await inbox.stats();
  return states.done > 0 && states.ready > 1; // one stays
};

/** Runs one of the operator's commands in a process, which is killed in the middle. If it ended before, undoes it and runs it again. */
async function killed(
  place: Place,
  [command, ...args]: [string, ...string[]],
  isInTheMiddle: (inbox: OperatedInbox) => Promise<boolean>,
  undo: () => Promise<unknown>,
): Promise<void> {
  for (let left = 50; ; left -= 1) {
    // on a busy machine, most commands end before their process has seen them begin
    const run = place.start(command, ...args);
    const { output } = await run.ended;
    if (run.child.signalCode === "SIGKILL" && (await isInTheMiddle(place.inbox))) return;
    expect(left, output).toBeGreaterThan(1);
    await undo();
  }
}

/** Works the inbox until that many events were handled. Resolves to their types. */
async function handle(inbox: WorkedInbox, most: number): Promise<string[]> {
  const types: string[] = [];
  const stopping = new AbortController();
  const handler = ({ type }: { readonly type: string }) => {
    types.push(type);
    if (types.length === most) stopping.abort();
  };
  await createWorker(inbox, { "*": handler }, { pollMs: 20 }).run({ signal: stopping.signal });
  return types;
}

/** Takes that many events. Resolves to how many different ones they were, all at their first attempt. */
async function takeAll(inbox: WorkedInbox, count: number): Promise<number> {
  const ids = new Set<string>();
  for (let taken = 0; taken < count; ) {
    const leases = await inbox.take({ limit: 500, leaseMs: 3_600_000 });
    for (const { id, attempt } of leases) if (attempt === 1) ids.add(id);
    taken += leases.length;
  }
  return ids.size;
}

describe.each(worked)("on %s", (engine) => {
  it("a pause that was killed while it held events is in effect: other types are handled, and once it is resumed, every event is taken", async () => {
    const place = await createPlace(engine);
    const { inbox } = place;
    await putMany(inbox, many, { type: paused });
    await killed(place, ["pause", paused], isPartlyHeld, () => inbox.resume());
    expect(await inbox.paused()).toMatchObject([{ type: paused }]);

    await inbox.put(Array.from({ length: 50 }, (_, n) => entry(`other_${n}`, { type: "esim.enabled" })));
    expect(await handle(inbox, 50)).toEqual(Array(50).fill("esim.enabled"));
    expect(await inbox.resume()).toHaveLength(1);
    expect(await inbox.paused()).toEqual([]);
    expect((await counts(inbox)).paused).toBe(0);
    expect(await takeAll(inbox, many)).toBe(many);
    expect(await inbox.take({ limit: 1, leaseMs: 1000 })).toEqual([]);
  });

  it("after a resume that was killed as soon as it had ended the pause, takes let go the rest, and every event is taken", async () => {
    const place = await createPlace(engine);
    const { inbox } = place;
    await putMany(inbox, many, { type: paused });
    await inbox.pause({ types: [paused], reason: "test" });
    expect(await counts(inbox)).toMatchObject({ ready: 0 });
    await killed(place, ["resume"], isResumed, () => inbox.pause({ types: [paused], reason: "test" }));
    expect(await takeAll(inbox, many)).toBe(many);
    expect(await counts(inbox)).toMatchObject({ ready: 0, paused: 0 });
    expect(await inbox.take({ limit: 1, leaseMs: 1000 })).toEqual([]);
  });

  it("an event whose worker was killed while its handler was over its time limit is handled by another process, abandoned or not", async () => {
    for (const graceMs of ["3600000", "0"]) {
      const { inbox, start } = await createPlace(engine);
      await inbox.put([entry("msg_1")]);
      const worker = start("work", graceMs);
      await worker.line(/^over its limit$/);
      const isAbandoned = { state: "ready", history: [{ reason: "timed_out" }] };
      if (graceMs === "0") await expect.poll(() => inbox.get(key("msg_1"))).toMatchObject(isAbandoned);
      worker.child.kill("SIGKILL");
      await worker.ended;
      expect(await handle(inbox, 1)).toEqual(["esim.enabled"]);
      const { state, history } = (await inbox.get(key("msg_1"))) ?? {};
      expect({ state, first: history?.[0]?.reason }).toEqual({
        state: "done",
        first: graceMs === "0" ? "timed_out" : "lease_ended",
      });
    }
  });
});

describe.each([...worked, "bullmq" as const])("on %s", (engine) => {
  it("an erasure of an eSIM that was killed in the middle is finished by the next one, which leaves nothing of the eSIM", async () => {
    const place = engine === "bullmq" ? await redisPlace() : await createPlace(engine);
    const { inbox } = place;
    await putMany(inbox, 5000, { esim: "esim_of_erika" });
    await inbox.put([entry("stays", { esim: "esim_of_max" })]);
    if ("remember" in place) await place.remember("esim_of_erika");
    await killed(place, ["erase", "esim_of_erika"], isPartlyErased, async () => {
      throw new Error("The erasure ended before it could be killed.");
    });
    expect(await place.everything()).toContain("esim_of_erika");
    const { states } = await inbox.stats();

    expect((await eraseSubject(inbox, "esim_of_erika")).events).toMatchObject({
      ready: states.ready - 1,
      done: 0,
    });
    expect((await inbox.stats()).states).toMatchObject({ ready: 1, done: 5000 });
    expect(await place.everything()).not.toContain("esim_of_erika");
    expect(await place.everything()).toContain("esim_of_max");
    expect(await inbox.put([entry("msg_0", { esim: "esim_of_erika" })])).not.toEqual(["stored"]);
  });
});
