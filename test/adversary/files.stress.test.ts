// Attacks by files: dumps that are bombs, and what else lies where we write.
import { importDeliveries } from "@esim-webhooks/import";
import { expect, it } from "vitest";
import { watchedInbox } from "../../packages/import/test/dump.ts";
import { gzipOfBlanks, inPieces } from "./tools/hostile-dumps.ts";

const options = { trustUnsigned: true } as const;

it("stops a dump that unpacks to a thousand times its size", async () => {
  const report = await importDeliveries(inPieces(gzipOfBlanks(200_000_000)), watchedInbox(), options);
  expect(report).toMatchObject({ damage: { code: "dump_too_large" }, ledger: { read: 1 } });
});
