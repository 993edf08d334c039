// Attacks by files: dumps that are bombs, and what else lies where we write.
import { gzipSync } from "node:zlib";
import { importDeliveries } from "@esim-webhooks/import";
import { expect, it } from "vitest";
import { watchedInbox } from "../../packages/import/test/dump.ts";
import { emptyGzipMembers, gzipOfBlanks, inPieces } from "./tools/hostile-dumps.ts";

const options = { trustUnsigned: true } as const;

it.each([
  ["unpacks to a thousand times its size", gzipOfBlanks(200_000_000), 1],
  ["has a million empty gzip members", emptyGzipMembers(), 0],
  ["has them in gzip again", gzipSync(emptyGzipMembers()), 0],
])("stops a dump that %s", async (_, dump, read) => {
  const report = await importDeliveries(inPieces(dump), watchedInbox(), options);
  expect(report).toMatchObject({ damage: { code: "dump_too_large" }, ledger: { read } });
});
