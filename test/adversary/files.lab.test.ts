// Attacks by files: dumps that are bombs, and what else lies where we write.
import { chmodSync, linkSync, readFileSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { importDeliveries } from "@esim-webhooks/import";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect, it } from "vitest";
import { cliProcess, folder } from "../../packages/cli/test/cli.ts";
import { watchedInbox } from "../../packages/import/test/dump.ts";
import { entry } from "../inbox-entry.ts";
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

it.skipIf(process.platform === "win32")(
  "imports a dump from a folder where others write, and overwrites nothing that they have linked to",
  async () => {
    const cwd = folder({ "dump.ndjson": "{}\n", mine: "mine" });
    chmodSync(cwd, 0o1777);
    for (const planted of ["dump.ndjson.rejects.ndjson", "dump.ndjson.checkpoint.json"]) {
      for (const plant of [symlinkSync, linkSync]) {
        plant(join(cwd, "mine"), join(cwd, planted));
        const { code, stderr } = await cliProcess(["import", "dump.ndjson", "--trust-unsigned"], { cwd });
        expect([code, stderr]).toEqual([
          2,
          expect.stringMatching(/foreign_file.*name a file in a folder where only you can write/i),
        ]);
        unlinkSync(join(cwd, planted));
      }
    }
    expect(readFileSync(join(cwd, "mine"), "utf8")).toBe("mine");
  },
);

it("shows an event whose reason is a megabyte of dates", async () => {
  const cwd = folder();
  const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
  const body = Buffer.from(JSON.stringify({ data: { reason: "2026-11-20 ".repeat(90_000) } }));
  await inbox.put([{ ...entry("msg_1"), body }]);
  await inbox.close();
  const { code, stdout } = await cliProcess(["inbox", "show", "msg_1"], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain("… (986,000 more characters)");
});
