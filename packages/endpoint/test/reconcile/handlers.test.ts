import type { WebhookDelivery } from "@esim-webhooks/client";
import { memoryStore } from "@esim-webhooks/core";
import { silentLogger } from "@esim-webhooks/core/kit";
import { type ReconcileReport, reconcile } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { made, servedListing } from "../served-listing.ts";
import { memoryState } from "./memory-state.ts";

const hour = 3_600_000;
const startMs = Date.parse("2026-11-20T00:00:00Z");

/** Handlers whose store says it is durable, behind a listing. */
function handled(deliveries: readonly WebhookDelivery[], handler: (id: string) => void) {
  const { api, endpoint } = servedListing(() => deliveries);
  const memory = memoryStore();
  const store = { ...memory, capabilities: { ...memory.capabilities, durable: true } };
  const state = memoryState();
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: unknown, message: string) => void errors.push(message) };
  const options = { state, store, logger, clock: { now: () => startMs + 24 * hour } };
  const handlers = { "*": ({ id }: { readonly id: string }) => handler(id) };
  let since: { readonly since?: Date } = { since: new Date(startMs) };
  return {
    errors,
    async pass(): Promise<ReconcileReport> {
      const report = reconcile(api, endpoint, handlers, { ...options, ...since });
      since = {};
      return report;
    },
  };
}

const exhausted = (id: string, occurredMs: number) => made({ id, occurredMs, status: "exhausted" });

describe("reconcile with handlers", () => {
  it("runs them oldest first", async () => {
    const seen: string[] = [];
    const { pass } = handled([exhausted("new", startMs + 2), exhausted("old", startMs + 1)], (id) =>
      seen.push(id),
    );
    expect((await pass()).ledger).toMatchObject({ listed: 2, stored: 2 });
    expect(seen).toEqual(["old", "new"]);
  });

  it("tries an event whose handler fails in five passes, gives it up once, and lets the others by", async () => {
    let tries = 0;
    const deliveries = Array.from({ length: 500 }, (_, index) =>
      exhausted(`good-${index}`, startMs + 5 * hour - index),
    );
    deliveries.push(exhausted("bad", startMs + hour));
    const { pass, errors } = handled(deliveries, (id) => {
      if (id !== "bad") return;
      tries += 1;
      throw new Error("never");
    });
    const first = await pass();
    expect(first).toMatchObject({ failing: 1, givenUp: 0, ledger: { stored: 500, rejected: 1 } });
    expect(first.mark).toBe(new Date(startMs + hour).toISOString());
    for (let passes = 2; passes <= 4; passes++)
      expect(await pass()).toMatchObject({ failing: 1, givenUp: 0 });
    const fifth = await pass();
    expect(fifth).toMatchObject({ failing: 0, givenUp: 1, ids: { givenUp: ["bad"] } });
    expect(fifth.mark).toBe(new Date(startMs + 5 * hour).toISOString());
    expect(await pass()).toMatchObject({ givenUp: 0 });
    expect(await pass()).toMatchObject({ failing: 0, givenUp: 0 });
    expect(tries).toBe(5);
    expect(errors.filter((message) => message.includes("given up"))).toHaveLength(1);
  });

  it("counts what was given up as rejected while it is in range, and does not run it", async () => {
    let tries = 0;
    const { pass } = handled([exhausted("bad", startMs + hour)], () => {
      tries += 1;
      throw new Error("never");
    });
    for (let passes = 1; passes <= 5; passes++) await pass();
    expect((await pass()).ledger).toMatchObject({ listed: 1, rejected: 1 });
    expect(tries).toBe(5);
  });

  it("stops when more than 2,000 events fail, and gives none of them up", async () => {
    const deliveries = Array.from({ length: 2100 }, (_, index) =>
      exhausted(`bad-${index}`, startMs + hour - index),
    );
    let isDown = true;
    const { pass } = handled(deliveries, () => {
      if (isDown) throw new Error("the database is down");
    });
    for (let passes = 1; passes <= 6; passes++) {
      await expect(pass()).rejects.toMatchObject({ code: "too_many_failures" });
    }
    isDown = false;
    expect((await pass()).ledger).toMatchObject({ stored: 2100 });
  });

  it("reports an invalid event once, and counts it while it is in range", async () => {
    const invalid = {
      ...exhausted("odd", startMs + 1),
      payload: { type: "esim.enabled", timestamp: "2026-11-20T00:00:00Z" },
    };
    const { pass, errors } = handled([invalid], () => {});
    expect(await pass()).toMatchObject({ ledger: { invalid: 1 }, ids: { invalid: ["odd"] } });
    expect(await pass()).toMatchObject({ ledger: { invalid: 1 }, ids: { invalid: [] } });
    expect(errors.filter((message) => message.includes("no events"))).toHaveLength(1);
  });

  it("counts a delivery without an id as invalid, reports it once, and reads on", async () => {
    const seen: string[] = [];
    const nameless = { ...exhausted("", startMs + 1), eventId: null };
    const { pass, errors } = handled([nameless, exhausted("named", startMs + 2)], (id) => seen.push(id));
    expect(await pass()).toMatchObject({
      ledger: { listed: 2, stored: 1, invalid: 1 },
      ids: { invalid: [""] },
    });
    expect(await pass()).toMatchObject({ ledger: { duplicate: 1, invalid: 1 }, ids: { invalid: [] } });
    expect(seen).toEqual(["named"]);
    expect(errors.filter((message) => message.includes("no events"))).toHaveLength(1);
  });

  it("brings in a delivery without a status, as one with a status that nobody knows", async () => {
    const seen: string[] = [];
    const { pass } = handled([{ ...exhausted("event", startMs + 1), status: null }], (id) => seen.push(id));
    expect((await pass()).ledger).toMatchObject({ listed: 1, stored: 1 });
    expect(seen).toEqual(["event"]);
  });
});
