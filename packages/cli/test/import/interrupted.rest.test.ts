import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ImportReport } from "@esim-webhooks/import";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Running, start as startCli } from "../cli.ts";
import { type OperatedInbox, operatedInboxes } from "../operated-inbox.ts";
import { configOf } from "../stored.ts";
import { deliveryRecords } from "./dump.ts";

const records = 15_000;
const openInbox = operatedInboxes();
let operated: OperatedInbox;
let dump: string;

beforeEach(async () => {
  operated = await openInbox();
  dump = join(operated.at.cwd, "dump.ndjson");
  writeFileSync(dump, `${deliveryRecords(records)}broken\n`);
});
afterEach(() => operated.remove());

const start = (config: "slow" | "failing" | "postgres", ...flags: string[]): Running =>
  startCli(
    ["import", dump, "--trust-unsigned", "--json", "--config", configOf(config), ...flags],
    operated.at,
  );
const stored = async () => (await operated.inbox.stats()).states.ready;

/** Runs the import again, to its end. */
async function continueImport(...flags: string[]): Promise<ImportReport & { readonly code: number | null }> {
  const { code, stdout } = await start("postgres", ...flags).ended;
  return { code, ...(JSON.parse(stdout) as ImportReport) };
}

describe("an import that is interrupted", () => {
  it("stops cleanly at Ctrl-C, says how to continue, and continues there", async () => {
    const first = start("slow");
    await first.written(/four puts/);
    first.child.kill("SIGINT");
    const { code, stdout, stderr } = await first.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/Interrupted after [\d,]+ records\. Run the same command again to continue\.\n$/);
    const before = JSON.parse(stdout) as ImportReport;
    expect(before).toMatchObject({ interrupted: true });
    expect(before.ledger.stored).toBe(await stored());
    expect(before.ledger.stored).toBeLessThan(records);

    const after = await continueImport();
    expect(after).toMatchObject({
      code: 3, // for the broken record
      resumedAfter: before.ledger.read,
      ledger: { read: records + 1, stored: records, duplicate: 0, invalid: 1 },
    });
    expect(await stored()).toBe(records);
    expect(existsSync(`${dump}.checkpoint.json`)).toBe(false);
  });

  it("is complete after SIGKILL and a second run, with no event twice", async () => {
    const first = start("slow");
    await first.written(/four puts/);
    first.child.kill("SIGKILL");
    await first.ended;
    expect(existsSync(`${dump}.checkpoint.json`)).toBe(true);
    expect(await stored()).toBeLessThan(records);

    const { ledger } = await continueImport();
    expect(ledger).toMatchObject({ read: records + 1, invalid: 1, conflict: 0, rejected: 0 });
    expect(ledger.stored + ledger.duplicate).toBe(records);
    expect(await stored()).toBe(records);
  });

  it("ends with 1 when the database becomes unavailable, says to run it again, and continues there", async () => {
    const { code, stdout, stderr } = await start("failing").ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Error (store_unavailable): The target cannot be reached");
    expect(stderr).toContain("Run it again when the target can be reached");
    const before = await stored();
    expect(before).toBeGreaterThan(0);

    const { ledger, resumedAfter } = await continueImport();
    expect(resumedAfter).toBeGreaterThan(0);
    expect(ledger).toMatchObject({ read: records + 1, invalid: 1, conflict: 0 });
    expect(await stored()).toBe(records);
  });

  it("starts over without a checkpoint, and counts stored events as duplicates", async () => {
    const first = start("slow", "--no-checkpoint");
    await first.written(/four puts/);
    first.child.kill("SIGINT");
    const { code, stderr } = await first.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("Run the same command again: what was imported counts as duplicate.");
    expect(existsSync(`${dump}.checkpoint.json`)).toBe(false);

    const before = await stored();
    const { ledger } = await continueImport("--no-checkpoint");
    expect(ledger).toMatchObject({ stored: records - before, duplicate: before });
  });

  it("refuses to continue with other flags, and names the checkpoint file", async () => {
    const first = start("slow");
    await first.written(/four puts/);
    first.child.kill("SIGINT");
    await first.ended;
    const { code, stderr } = await start("postgres", "--only", "failed").ended;
    expect(code).toBe(2);
    expect(stderr).toContain(
      `${dump}.checkpoint.json: The checkpoint file belongs to an import with other options.`,
    );
  });
});
