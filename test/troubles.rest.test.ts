import { randomUUID } from "node:crypto";
import type { InboxAdmin, InboxWriter } from "@esim-webhooks/core";
import { watchTroubles } from "@esim-webhooks/core/health";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { Queue } from "bullmq";
import { describe, expect, it } from "vitest";
import { closedAfterEach } from "./closed-after-each.ts";
import { createData } from "./inbox-data.ts";
import { entry } from "./inbox-entry.ts";
import { postgresUrl, redisUrl } from "./servers/shared.ts";
import { loggerTo } from "./support/loggers.ts";

const dayMs = 86_400_000;
const opened = closedAfterEach();

function keep<Each extends { close(): unknown }>(each: Each): Each {
  opened.push(each);
  return each;
}

/** A watch whose clock is moved by the test. */
function watched(inbox: InboxAdmin) {
  let nowMs = Date.now();
  const lines: [unknown, unknown][] = [];
  const log = ({ code, subject }: Record<string, unknown>) => void lines.push([code, subject]);
  const logger = loggerTo(log);
  const watch = keep(watchTroubles({ inbox, logger, clock: { now: () => nowMs } }));
  return {
    lines,
    async later(ms: number) {
      nowMs += ms;
      return (await watch.check()).map(({ code, subject }) => (subject ? `${code} ${subject}` : code)).sort();
    },
  };
}

async function notePass(inbox: InboxAdmin, run: string): Promise<void> {
  const at = new Date();
  const times = { startedAt: at, endedAt: at };
  await inbox.noteRun({
    kind: "reconcile",
    run,
    source: "default",
    ...times,
    outcome: "complete",
    ledger: {},
  });
}

describe("watchTroubles", () => {
  it("sees on Postgres what begins and ends: dead events, silence, reconcile and pauses", async () => {
    const { schema } = await createData(postgresUrl);
    const inbox = keep(postgresInbox({ url: postgresUrl, schema }));
    await inbox.migrate();
    const { later, lines } = watched(inbox);
    expect(await later(0)).toEqual([]);

    await inbox.put([entry("msg_1"), entry("msg_2")]);
    await deliveryIsNoted(inbox);
    const taken = await inbox.take({ limit: 2, leaseMs: 60_000 });
    const reasons = ["failed", "timed_out"] as const;
    const settlements = taken.map((one, index) => {
      const report = {
        reason: reasons[index] ?? ("invalid" as const),
        durationMs: 1,
        error: "no luck",
        worker: "w",
      };
      return { ...one, state: "dead" as const, error: "no luck", report };
    });
    await inbox.settle(settlements);
    expect(await later(0)).toEqual(["events_dead failed", "events_dead timed_out"]);

    await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down" });
    await notePass(inbox, "run_1");
    const all = ["no_delivery", "reconcile_not_run default", "type_paused esim.faulted"];
    expect(await later(dayMs + 60_000)).toEqual(["events_dead failed", "events_dead timed_out", ...all]);

    await inbox.redrive({});
    await inbox.resume();
    expect(await later(-dayMs)).toEqual([]);
    expect(lines).toHaveLength(10); // five began, five ended
  });

  it("sees on BullMQ what it keeps: silence, reconcile, and a pause of all types", async () => {
    const name = `troubles-${randomUUID()}`;
    const inbox: InboxWriter & InboxAdmin = keep(bullmqInbox({ connection: redisUrl, name }));
    const queue = new Queue(name, { connection: { url: redisUrl } });
    keep({ close: () => queue.obliterate({ force: true }).then(() => queue.close()) });
    const { later, lines } = watched(inbox);
    await inbox.put([entry("msg_1")]);
    await deliveryIsNoted(inbox);
    await inbox.pause({ reason: "maintenance" });
    await notePass(inbox, "run_1");
    expect(await later(0)).toEqual([]);
    const all = ["no_delivery", "reconcile_not_run default", "type_paused all"];
    expect(await later(dayMs + 60_000)).toEqual(all);
    await inbox.resume();
    expect(await later(-dayMs)).toEqual([]);
    expect(lines).toHaveLength(6);
  });
});

/** A put does not wait until the time of the last delivery is noted. */
async function deliveryIsNoted(inbox: InboxAdmin): Promise<void> {
  await expect.poll(async () => (await inbox.gauges()).lastReceivedAt).not.toBeNull();
}
