import { createReadStream } from "node:fs";
import { importDeliveries } from "@esim-webhooks/import";
import { describe, expect, it } from "vitest";
import { watchedInbox } from "./dump.ts";
import { goldenDumps, goldenSecret } from "./golden.ts";

describe("a golden dump", () => {
  it.each(goldenDumps())(
    "$name is imported, and every event is a duplicate the second time",
    async (golden) => {
      const { name, ledger, ids } = golden;
      const inbox = watchedInbox();
      const open = () => createReadStream(new URL(`golden/${name}`, import.meta.url));
      const options = { trustUnsigned: true, secret: goldenSecret };
      const first = await importDeliveries(open(), inbox, options);
      expect(first).toMatchObject({ ledger, damage: null });
      expect(new Set(inbox.entries.keys())).toEqual(new Set(ids));
      const second = await importDeliveries(open(), inbox, options);
      const { stored = 0, duplicate = 0 } = first.ledger;
      expect(second.ledger).toEqual({ ...first.ledger, stored: 0, duplicate: stored + duplicate });
    },
  );
});
