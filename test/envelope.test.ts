import {
  createProcessor,
  createReceiver,
  createWorker,
  esimCatalog,
  type InboxEntry,
  sign,
  type Target,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { decodeEntry, encodeEntry } from "@esim-webhooks/core/engine";
import { observe } from "@esim-webhooks/core/observe";
import { memoryInbox, newSecret, sampleData } from "@esim-webhooks/core/testing";
import { importDeliveries, type Ledger } from "@esim-webhooks/import";
import { describe, expect, it } from "vitest";
import { expectWarnings } from "./support/warnings.ts";

expectWarnings("event_dead", "invalid");

const secret = newSecret();
const id = "msg_1";
const good = { type: "esim.enabled", timestamp: "2026-11-20T12:00:00Z", data: sampleData("esim.enabled") };

async function received(target: Target, envelope: object): Promise<string> {
  const body = JSON.stringify(envelope);
  const delivery = { method: "POST", headers: sign({ id, body }, secret), body };
  const reply = await createReceiver(target, { secret }).receive(delivery);
  const { outcome, code } = JSON.parse(reply.body);
  return outcome ?? code;
}

/** Works what the inbox has, and resolves to the state that the event is in then. */
async function worked(inbox: ReturnType<typeof memoryInbox>, handler: (event: WebhookEvent) => void) {
  const stop = new AbortController();
  const unwatch = observe({ settle: () => stop.abort() });
  await createWorker(inbox, { "*": handler }).run({ signal: stop.signal });
  unwatch();
  return (await inbox.get({ source: "default", id }))?.state;
}

async function imported(target: Target, envelope: object): Promise<Ledger> {
  const dump = JSON.stringify({ eventId: id, payload: envelope, status: "exhausted" });
  const { ledger } = await importDeliveries(new Blob([dump]).stream(), target as never, {
    trustUnsigned: true,
  });
  return ledger;
}

describe("an envelope, by whichever way it comes", () => {
  it.each(["2026-13-20T12:00:00Z", "2026-11-20T12:00:00Zjunk", "2026-11-20T12:00:00"])(
    "is invalid with the timestamp %s, and no handler runs",
    async (timestamp) => {
      const envelope = { ...good, timestamp };
      const runs: unknown[] = [];
      const handlers = { "*": (event: WebhookEvent) => void runs.push(event) };
      expect(await received(handlers, envelope)).toBe("invalid");
      expect((await createProcessor(handlers).process({ id, ...envelope } as WebhookEvent)).code).toBe(
        "invalid",
      );
      expect((await imported(handlers, envelope)).invalid).toBe(1);
      const inbox = memoryInbox();
      expect(await received(inbox, envelope)).toBe("stored");
      expect(await worked(inbox, handlers["*"])).toBe("dead");
      expect(runs).toEqual([]);
    },
  );

  it("has its unknown fields in event.extra of the handler", async () => {
    const extra = { apiVersion: "2027-01", trace: { hops: [1, null] } };
    const envelope = { ...good, ...extra };
    const runs: WebhookEvent[] = [];
    const handlers = { "*": (event: WebhookEvent) => void runs.push(event) };

    expect(await received(handlers, envelope)).toBe("processed");
    await imported(handlers, envelope);
    for (const fill of [received, imported]) {
      const inbox = memoryInbox();
      await fill(inbox, envelope);
      expect(await worked(inbox, handlers["*"])).toBe("done");
    }
    const queue: InboxEntry[] = [];
    const producer = {
      put: async (entries: readonly InboxEntry[]) => {
        queue.push(...entries);
        return entries.map(() => "stored" as const);
      },
    };
    await received(producer, envelope);
    const [carried] = queue.map((entry) => decodeEntry(JSON.parse(JSON.stringify(encodeEntry(entry)))));
    await createProcessor(handlers).process(
      esimCatalog.parse(id, carried?.body ?? Buffer.of()).event as WebhookEvent,
    );

    expect(runs).toEqual(Array(5).fill({ id, ...good, extra }));
  });
});
