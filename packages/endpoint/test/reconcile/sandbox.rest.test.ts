import { describe, expect, it } from "vitest";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { nothing } from "./nothing.ts";
import { startWorld } from "./world.ts";

expectWarnings("no_matching_key");

const hour = 3_600_000;
const day = 24 * hour;

describe("reconcile with the sandbox", () => {
  it("recovers what is exhausted, and what failed with no next try", async () => {
    const world = await startWorld();
    const arrived = await world.emit(2, "stores");
    const refused = await world.emit(2, "refuses");
    const exhausted = await world.emit(3, "down");
    await world.pass("16h");
    const report = await world.reconcile();
    expect(report.ledger).toEqual({ ...nothing, listed: 7, stored: 5, duplicate: 2 });
    expect(report).toMatchObject({ recovered: { missed: 5, acknowledgedAndLost: 0 }, lost: null });
    expect(await world.stored()).toEqual([...arrived, ...refused, ...exhausted].sort());
    const row = await world.inbox.get({ source: "default", id: exhausted[0] as string });
    expect(row?.replay).toMatchObject({
      run: report.run,
      delivery: { status: "exhausted", attemptNumber: 10 },
    });
    expect(await world.inbox.runs()).toEqual([
      {
        ...{
          kind: "reconcile",
          run: report.run,
          source: "default",
          outcome: "complete",
          ledger: report.ledger,
        },
        ...{ startedAt: expect.any(Date), endedAt: expect.any(Date) },
      },
    ]);
    await world.reconcile({ dryRun: true });
    expect(await world.inbox.runs()).toHaveLength(1);
  });

  it("notes in its report and in the inbox when the service last got a 401, which is not sent again", async () => {
    const world = await startWorld();
    await world.emit(1, "stores");
    expect((await world.reconcile()).refusedAt).toBeNull();
    await world.pass("1h");
    world.sandbox.faults.add({ kind: "wrong_signature" });
    await world.emit(1, "stores");
    const { refusedAt, recovered } = await world.reconcile();
    expect(recovered.missed).toBe(1);
    let sentAt = "";
    for await (const delivery of world.api.webhooks.deliveries(world.endpoint))
      if (delivery.httpStatus === 401) sentAt = delivery.sentAt ?? "";
    expect(refusedAt).toBe(new Date(sentAt).toISOString());
    const [last, first] = await world.inbox.runs();
    expect([first?.refusedAt, last?.refusedAt?.toISOString()]).toEqual([undefined, refusedAt]);
  });

  it("recovers what was acknowledged and lost, and raises the alarm", async () => {
    const world = await startWorld();
    await world.emit(1, "stores");
    const lost = await world.emit(2, "forgets");
    const report = await world.reconcile();
    expect(report.ledger).toEqual({ ...nothing, listed: 3, stored: 2, duplicate: 1 });
    expect(report.recovered).toEqual({ missed: 0, acknowledgedAndLost: 2 });
    expect(report.ids.acknowledgedAndLost.toSorted()).toEqual(lost.toSorted());
    expect(world.lines).toMatchObject([
      { level: "error", message: expect.stringMatching(/acknowledged and lost/), fields: { events: 2 } },
    ]);
    expect(JSON.stringify(world.lines)).not.toContain("payload");
  });

  it("leaves alone what is still coming, and finds it once it is exhausted", async () => {
    const world = await startWorld();
    const coming = await world.emit(2, "down");
    const first = await world.reconcile();
    expect(first.ledger).toEqual({ ...nothing, listed: 2, coming: 2 });
    expect(await world.stored()).toEqual([]);
    await world.pass("8h");
    await world.emit(3, "stores");
    expect((await world.reconcile()).ledger).toMatchObject({ coming: 2, duplicate: 3 });
    await world.emit(0, "down");
    await world.pass("8h");
    const last = await world.reconcile();
    expect(last.ledger).toMatchObject({ stored: 2, coming: 0 });
    expect(await world.stored()).toEqual(expect.arrayContaining(coming));
  });

  it("recovers what is coming with includeComing, which is a duplicate when it comes", async () => {
    const world = await startWorld();
    const coming = await world.emit(2, "down");
    expect((await world.reconcile({ includeComing: true })).ledger).toEqual({
      ...nothing,
      listed: 2,
      stored: 2,
    });
    await world.emit(0, "stores");
    await world.pass("1h");
    expect(await world.stored()).toEqual(coming.toSorted());
    const { ledger } = await world.reconcile();
    expect(ledger).toEqual({ ...nothing, listed: 2, duplicate: 2 });
  });

  it("recovers what the service keeps for an endpoint that is inactive, after a day", async () => {
    const world = await startWorld();
    await world.emit(1, "down");
    world.sandbox.setEndpointActive(world.endpoint, false);
    await world.pass("30h");
    expect((await world.reconcile()).ledger).toEqual({ ...nothing, listed: 1, coming: 1 });
    const clock = { now: () => Date.now() + 30 * hour };
    expect((await world.reconcile({ clock })).ledger).toEqual({ ...nothing, listed: 1, stored: 1 });
  });

  it("finds nothing when it runs again", async () => {
    const world = await startWorld();
    await world.emit(3, "forgets");
    await world.reconcile();
    const { ledger } = await world.reconcile();
    expect(ledger).toEqual({ ...nothing, listed: 3, duplicate: 3 });
  });

  it("leaves out what is older than since, also in later passes", async () => {
    const world = await startWorld();
    await world.emit(2, "forgets");
    await world.pass("2h");
    const since = new Date(Date.now() + hour);
    await world.emit(1, "forgets");
    expect((await world.reconcile({ since })).ledger).toEqual({
      ...nothing,
      listed: 3,
      stored: 1,
      outOfRange: 2,
    });
    expect((await world.reconcile()).ledger).toMatchObject({ duplicate: 1, outOfRange: 2 });
  });

  it("changes nothing in a dry run", async () => {
    const world = await startWorld();
    await world.emit(1, "forgets");
    await world.emit(2, "refuses");
    const report = await world.reconcile({ dryRun: true });
    expect(report).toMatchObject({ dryRun: true, recovered: { missed: 2, acknowledgedAndLost: 0 } });
    expect(report.ledger).toEqual({ ...nothing, listed: 3, stored: 3 });
    expect(await world.stored()).toEqual([]);
    await expect(world.reconcile({ since: undefined })).rejects.toMatchObject({ code: "no_watermark" });
  });

  it("says what can no longer be had when the listing does not go back far enough", async () => {
    const world = await startWorld();
    await world.emit(2, "stores");
    await world.reconcile();
    const lost = await world.emit(3, "forgets");
    await world.pass("192h");
    await world.emit(1, "forgets");
    const clock = { now: () => Date.now() + 192 * hour };
    const report = await world.reconcile({ clock });
    expect(report.ledger).toMatchObject({ listed: 1, stored: 1 });
    expect(report.lost).not.toBeNull();
    const { from, to } = report.lost ?? { from: "", to: "" };
    expect(Date.parse(to) - Date.parse(from)).toBeGreaterThan(20 * hour);
    expect(world.lines.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(
        /has forgotten the events of this time .* support cannot replay them\. Import a dump/,
      ),
    );
    expect(await world.stored()).not.toContain(lost[0]);
    expect(await world.reconcile({ clock })).toMatchObject({ lost: null });
  });

  it("takes nothing for lost that would be from before the endpoint was created", async () => {
    const world = await startWorld();
    await world.emit(1, "stores");
    const since = new Date(Date.now() - 30 * day);
    expect((await world.reconcile({ since })).lost).toBeNull();
    await world.pass("192h");
    await world.emit(1, "stores");
    const { data } = await world.api.webhooks.list().page();
    const createdAt = new Date(data[0]?.createdAt ?? 0).toISOString();
    const clock = { now: () => Date.now() + 192 * hour };
    expect((await world.reconcile({ since, clock })).lost).toMatchObject({ from: createdAt });
  });
});
