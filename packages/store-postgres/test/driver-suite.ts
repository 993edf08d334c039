import { inboxSuite, type Runner, stateSuite } from "@esim-webhooks/conformance";
import { createProcessor, createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { importDeliveries } from "@esim-webhooks/import";
import {
  latestOnly,
  type PostgresOptions,
  postgresInbox,
  postgresState,
  postgresStore,
} from "@esim-webhooks/store-postgres";
import { sql, type Transaction } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";

/** The tests of the inbox that run with each driver: values of every type, and each statement. */
const share =
  /states its cap|byte for byte|answers one to one, in order|odd ids|concurrent takes, and counts|next attempt only|keeps the replay of an imported|once per run, and never|lists events by state|gauges|history of any|each minute|workers that have reported|longest due first$|by whom and why|while one is paused|erases the personal data|transact|fingerprint|compares the body of an inline/;

/** Runs a share of the suites, an import, and a handler with `context.tx`. `open` is called once the servers run. */
export function driverSuite(name: string, open: () => PostgresOptions<never>): void {
  const only = (chosen: RegExp): Runner => ({
    describe,
    it: (sentence, body) => void (chosen.test(sentence) && it(sentence, body)),
  });
  const given = <Options extends object>(options: Options) => ({ timeoutMs: 30_000, ...options, ...open() });
  const openInbox = (options: object) => postgresInbox<never>(given(options));
  const openStore = (options: object) => postgresStore<never>(given(options));
  beforeAll(() => openInbox({}).migrate());

  inboxSuite(
    name,
    {
      capabilities: {
        roles: ["writer", "queue", "admin", "rerun"],
        durable: true,
        multiProcess: true,
        transactional: true,
        ordered: true,
        retentionMs: 30 * 86_400_000,
      },
      open: openInbox,
      openStore,
    },
    only(share),
  );
  stateSuite(
    name,
    {
      capabilities: { durable: true, multiProcess: true },
      open: (options) => postgresState<never>(given(options)),
    },
    only(/^(?!.*(?:50 concurrent|only whole))/), // they cost more than all others together
  );

  describe(`an application by ${name}`, () => {
    it("imports a dump, works its events, and skips them in a second import", async () => {
      const inbox = openInbox({});
      await inbox.ready();
      const payload = {
        type: "esim.enabled",
        timestamp: "2026-11-20T12:00:00.123456Z",
        data: sampleData("esim.enabled"),
      };
      const dump = ["a", "b"].map((eventId) => JSON.stringify({ eventId, payload })).join("\n");
      const importIt = async () =>
        (await importDeliveries(new Blob([dump]).stream(), inbox, { trustUnsigned: true, newSource: true }))
          .ledger;
      expect(await importIt()).toMatchObject({ stored: 2 });
      const stop = new AbortController();
      const seen: string[] = [];
      const handlers: Handlers<EsimEvents> = {
        "esim.enabled": ({ id }) => {
          seen.push(id);
          if (seen.length === 2) stop.abort();
        },
      };
      await createWorker(inbox, handlers).run({ signal: stop.signal });
      expect(seen.sort()).toEqual(["a", "b"]);
      expect(await importIt()).toMatchObject({ stored: 0 });
      await inbox.close();
    });

    it("handles a delivery once, in a transaction, and keeps the newest state to the microsecond", async () => {
      const store = openStore({});
      const seen: unknown[] = [];
      const { schema } = open();
      const latest = { state: "usable", ...(schema !== undefined && { schema }) };
      const handlers: Handlers<EsimEvents, Transaction<never>> = {
        "esim.enabled": latestOnly(latest, async ({ id }, { tx }) => {
          await sql`select 1`.execute(tx);
          seen.push(id);
        }),
      };
      const processor = createProcessor(handlers, { store });
      const data = { ...sampleData("esim.enabled") };
      const at = (id: string, timestamp: string) => ({ id, type: "esim.enabled", timestamp, data });
      const codes = [];
      for (const event of [
        at("1", "2026-11-20T12:00:00.000002Z"),
        at("1", "2026-11-20T12:00:00.000002Z"),
        at("2", "2026-11-20T12:00:00.000001Z"),
      ])
        codes.push((await processor.process(event)).code);
      expect(codes).toEqual(["processed", "duplicate", "discarded"]);
      expect(seen).toEqual(["1"]);
      await store.close();
    });
  });
}
