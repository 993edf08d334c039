import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ImportReport } from "@esim-webhooks/import";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cliInto, type Ended, start, startInTerminal } from "../cli.ts";
import { type OperatedInbox, operatedInboxes } from "../operated-inbox.ts";
import { configOf } from "../stored.ts";
import { deliveryRecord, deliveryRecords } from "./dump.ts";

const openInbox = operatedInboxes();
let operated: OperatedInbox;
let folder: string;
let dump: string;

beforeEach(async () => {
  operated = await openInbox();
  folder = operated.at.cwd;
  dump = join(folder, "dump.ndjson");
});
afterEach(() => operated.remove());

const report = ({ stdout }: Ended) => JSON.parse(stdout) as ImportReport;

describe("import", () => {
  it.skipIf(process.platform === "win32")(
    "writes the rejects and then the report into the file that standard output is redirected to",
    async () => {
      writeFileSync(dump, `${deliveryRecord("evt_1")}broken\n`);
      const out = join(folder, "out");
      const args = ["import", dump, "--trust-unsigned", "--rejects", "/dev/stdout"];
      const { stderr } = await cliInto(out, [...args, "--config", configOf("postgres")], operated.at);
      expect(stderr).not.toContain("foreign_file");
      expect(readFileSync(out, "utf8")).toMatch(/^\{.*"code":"not_json".*\}\nLEDGER/);
    },
  );

  it("imports to the end when standard error is closed", async () => {
    writeFileSync(dump, deliveryRecords(10_000));
    const args = ["import", dump, "--trust-unsigned", "--json", "--config", configOf("postgres")];
    const { child, ended } = start(args, operated.at);
    child.stderr?.once("data", () => child.stderr?.destroy());
    const ran = await ended;
    expect(ran.code).toBe(0);
    expect(report(ran).ledger).toMatchObject({ read: 10_000, stored: 10_000 });
  });

  it("leaves no empty rejects file behind when standard output is closed", async () => {
    writeFileSync(dump, deliveryRecords(1));
    const { child, ended } = start(
      ["import", dump, "--trust-unsigned", "--config", configOf("postgres")],
      operated.at,
    );
    child.stdout?.destroy();
    expect((await ended).code).toBe(0);
    expect(readdirSync(folder)).toEqual(["dump.ndjson"]);
  });

  it("shows its progress on a terminal", async () => {
    writeFileSync(dump, deliveryRecords(2000));
    const args = ["import", dump, "--trust-unsigned", "--config", configOf("postgres")];
    const { code, stdout } = await startInTerminal(args, operated.at).ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/100% {2}[\d,]+ records {2}[\d,]+\/s/);
    expect(stdout).toContain(`Importing ${dump}`);
  });

  it("refuses to read a dump from a terminal", async () => {
    const { code, stdout } = await startInTerminal(["import", "-"], operated.at).ended;
    expect(code).toBe(2);
    expect(stdout).toContain("Standard input is a terminal");
  });
});
