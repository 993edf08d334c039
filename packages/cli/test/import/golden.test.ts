import { readFileSync } from "node:fs";
import type { ImportReport } from "@esim-webhooks/import";
import { describe, expect, it } from "vitest";
import { goldenDumps, goldenSecret } from "../../../import/test/golden.ts";
import { cli } from "../cli.ts";

const folder = new URL("../../../import/test/golden/", import.meta.url);

describe("a golden dump", () => {
  it.each(goldenDumps())("$name has the same ledger when it is piped in", async ({ name, ledger }) => {
    const { code, stdout } = await cli(["import", "-", "--dry-run", "--trust-unsigned", "--json"], {
      input: readFileSync(new URL(name, folder)),
      env: { ESIM_WEBHOOK_SECRET: goldenSecret },
    });
    const { read = 0, invalid = 0, rejected = 0 } = ledger;
    expect((JSON.parse(stdout) as ImportReport).ledger).toMatchObject({
      read,
      invalid,
      rejected,
      stored: read - invalid - rejected, // a dry run finds no duplicates
    });
    expect(code).toBe(invalid + rejected > 0 ? 3 : 0);
  });
});
