import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Inbox } from "@esim-webhooks/core";
import { signedRequest } from "@esim-webhooks/core/testing";
import type { ImportReport } from "@esim-webhooks/import";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { cli, type Ended, secret } from "../cli.ts";
import { configOf, operatedInMemory } from "../stored.ts";
import { deliveryRecord, deliveryRecords } from "./dump.ts";

expectWarnings("short_retention");

let inbox: Inbox;
let folder: string;
let dump: string;

beforeEach(() => {
  inbox = operatedInMemory();
  folder = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
  dump = join(folder, "dump.ndjson");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]): Promise<Ended> =>
  cli(["import", ...args, "--config", configOf("memory")], { cwd: folder });
const trusted = (...args: string[]): Promise<Ended> => run(dump, "--trust-unsigned", ...args);
const report = ({ stdout }: Ended) => JSON.parse(stdout) as ImportReport;
const stored = async () => (await inbox.stats()).states.ready;

describe("import", () => {
  it("stores the events of a dump, and writes only the report, to standard output", async () => {
    writeFileSync(dump, deliveryRecord("evt_1") + deliveryRecord("evt_2", { type: "esim.faulted" }));
    const { code, stdout, stderr } = await trusted();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n").map((line) => line.trimEnd())).toEqual([
      "LEDGER     RECORDS",
      "stored           2  new",
      "duplicate        0",
      "conflict         0",
      "invalid          0",
      "filtered         0",
      "rejected         0",
      expect.stringMatching(/^read {13}2 {2}in \d+s, [\d,]+ records a second$/),
      "",
      `esim.enabled  1  ${"█".repeat(40)}`,
      `esim.faulted  1  ${"█".repeat(40)}`,
      "",
      "█ stored",
      "events from 2026-11-18 10:00:00Z to 2026-11-18 10:00:00Z (0s)",
      "",
    ]);
    expect(await stored()).toBe(2);
    expect(readdirSync(folder)).toEqual(["dump.ndjson"]);
  });

  it("reads a dump up to the limit of --max-ratio, ends with 3, and names the flag that raises it", async () => {
    writeFileSync(dump, gzipSync(deliveryRecords(60_000)));
    const bounded = await run(dump, "--trust-unsigned", "--dry-run", "--json", "--max-ratio", "2");
    expect(bounded.code).toBe(3);
    expect(bounded.stderr).toContain("raise --max-ratio");
    expect(report(bounded).damage).toMatchObject({ code: "dump_too_large" });
    const allowed = await run(dump, "--trust-unsigned", "--dry-run", "--json", "--max-ratio", "1000");
    expect(allowed.code).toBe(0);
    expect(report(allowed).ledger.read).toBe(60_000);
  });

  it("stores nothing when the dump is imported again", async () => {
    writeFileSync(dump, deliveryRecords(3));
    await trusted();
    const again = await trusted("--json");
    expect(again.code).toBe(0);
    expect(report(again).ledger).toMatchObject({ read: 3, stored: 0, duplicate: 3 });
  });

  it("keeps the rejects file of the previous import when it fails at once", async () => {
    writeFileSync(dump, `${deliveryRecord("evt_1")}broken\n`);
    await trusted();
    const rejects = readFileSync(`${dump}.rejects.ndjson`, "utf8");
    expect(rejects).toContain("broken");
    expect((await run(dump)).code).toBe(2);
    expect(readFileSync(`${dump}.rejects.ndjson`, "utf8")).toBe(rejects);
  });

  it("warns about --types that match no event type, and suggests the nearest", async () => {
    writeFileSync(dump, deliveryRecords(1));
    const types = "esim.enabeld,esim.lifecyle.*,esim.enabled,esim.lifecycle.*";
    const { code, stderr } = await trusted("--dry-run", "--types", types);
    expect({ code, stderr: stderr.split("\n") }).toEqual({
      code: 0,
      stderr: [
        'Warning (unknown_event_type): --types esim.enabeld matches no known event type. Did you mean "esim.enabled"?',
        'Warning (unknown_event_type): --types esim.lifecyle.* matches no known event type. Did you mean "esim.lifecycle.*"?',
        "",
      ],
    });
  });

  it("refuses records without a signature unless --trust-unsigned is set, and stores nothing", async () => {
    writeFileSync(dump, deliveryRecords(3));
    const { code, stdout, stderr } = await run(dump);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("If you trust the origin of the dump, set --trust-unsigned.");
    expect(await stored()).toBe(0);
    expect(readdirSync(folder)).toEqual(["dump.ndjson"]);
  });

  it("ends with 3 when records did not get through, and writes them to a file that only its owner can read", async () => {
    writeFileSync(dump, `${deliveryRecord("evt_1")}{"eventId": broken\n${deliveryRecord("evt_2")}`);
    const { code, stdout, stderr } = await trusted();
    expect(code).toBe(3);
    expect(stdout).toContain(`not a valid event: see ${dump}.rejects.ndjson`);
    expect(stderr).toBe("1 of 3 records did not get through.\n");
    const [line = ""] = readFileSync(`${dump}.rejects.ndjson`, "utf8").split("\n");
    expect(JSON.parse(line)).toMatchObject({ position: { record: 2, line: 2 }, text: '{"eventId": broken' });
    expect(statSync(`${dump}.rejects.ndjson`).mode & 0o777).toBe(0o600);
    expect(await stored()).toBe(2);
  });

  it("imports the readable part of a damaged archive, says so, and ends with 3", async () => {
    const whole = gzipSync(deliveryRecords(5000));
    writeFileSync(dump, whole.subarray(0, whole.length - 200));
    const ran = await trusted("--json");
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain("Error (damaged_dump)");
    expect(ran.stderr).toContain("Everything before it was read.");
    expect(ran.stderr).not.toContain("up to that point");
    expect(report(ran).ledger.stored).toBe(await stored());
    expect(await stored()).toBeGreaterThan(0);
  });

  it("changes nothing in a dry run, and needs no target", async () => {
    writeFileSync(dump, `${deliveryRecords(2)}broken\n`);
    const env = { DATABASE_URL: "postgres://127.0.0.1:9/none" };
    const { code, stdout } = await cli(["import", dump, "--dry-run", "--trust-unsigned"], {
      cwd: folder,
      env,
    });
    expect(code).toBe(3);
    expect(stdout).toMatch(/^stored +2 +would be imported: this was a dry run$/m);
    expect(readdirSync(folder)).toEqual(["dump.ndjson"]);
  });

  it("filters by delivery status, type, time, id and eSIM", async () => {
    const lines = [
      deliveryRecord("evt_1", { status: "delivered" }),
      deliveryRecord("evt_2", { type: "esim.lifecycle.suspended" }),
      deliveryRecord("evt_3", { at: new Date("2026-11-01T00:00:00Z") }),
      deliveryRecord("evt_4"),
      deliveryRecord("evt_1,evt_4", { at: new Date("2026-11-01T00:00:00Z") }),
    ];
    writeFileSync(dump, lines.join(""));
    const ledgers = await Promise.all(
      [
        ["--only", "failed,exhausted"],
        ["--types", "esim.lifecycle.*"],
        ["--since", "2026-11-10", "--until", "2026-11-18T12:00:00Z"],
        ["--id", "evt_1", "--id", "evt_4"],
        ["--id", "evt_1,evt_4"],
        ["--esim", "none"],
      ].map(async (flags) => report(await trusted("--dry-run", "--json", ...flags)).ledger),
    );
    expect(ledgers.map(({ stored, filtered }) => [stored, filtered])).toEqual([
      [4, 1],
      [1, 4],
      [3, 2],
      [2, 3],
      [1, 4],
      [0, 5],
    ]);
  });

  it("reads a dump from standard input, and leaves no file behind", async () => {
    const { code, stdout } = await cli(
      ["import", "-", "--trust-unsigned", "--json", "--config", configOf("memory")],
      { cwd: folder, input: gzipSync(deliveryRecords(3)) },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      forms: ["gzip", "ndjson"],
      ledger: { stored: 3 },
      rejectsFile: null,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("suggests --map when no record of the dump is an event", async () => {
    const csv = join(folder, "export.csv");
    writeFileSync(csv, 'id,body\nevt_1,"{}"\nevt_2,"{}"\n');
    const { code, stderr } = await run(csv, "--trust-unsigned", "--dry-run");
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /2 of 2 records did not.*\nNone of them is an event\. .*--map eventId=id,payload=body/,
    );
    writeFileSync(csv, `${deliveryRecord("evt_1")}{"id": 1}\n`);
    expect((await run(csv, "--trust-unsigned", "--dry-run")).stderr).not.toContain("--map");
  });

  it("reads records of another shape with --map", async () => {
    const { payload } = JSON.parse(deliveryRecord("evt_1")) as { payload: unknown };
    writeFileSync(dump, `${JSON.stringify({ message: { id: "evt_1", body: JSON.stringify(payload) } })}\n`);
    const map = ["--map", "eventId=message.id", "--map", "payload=message.body"];
    expect(report(await trusted("--json", ...map)).ledger).toMatchObject({ read: 1, stored: 1 });
  });

  it("verifies captured requests with the secret in the environment, and rejects forged ones", async () => {
    const event = (id: string) => ({
      id,
      ...(JSON.parse(deliveryRecord(id)) as { payload: object }).payload,
    });
    const captured = (signedBy: string) => {
      const at = new Date("2026-11-18T10:00:00Z");
      const { headers, body } = signedRequest(event("evt_1") as never, { secret: signedBy, at });
      return `${JSON.stringify({ headers, body: Buffer.from(body).toString(), receivedAt: at })}\n`;
    };
    writeFileSync(dump, captured(secret) + captured(`whsec_${Buffer.alloc(32).toString("base64")}`));
    const env = { ESIM_WEBHOOK_SECRET: secret };
    const ran = await cli(["import", dump, "--json", "--config", configOf("memory")], {
      cwd: folder,
      env,
    });
    expect(ran.code).toBe(3);
    expect(report(ran).ledger).toMatchObject({ read: 2, stored: 1, rejected: 1 });
    expect(await stored()).toBe(1);
  });

  it("runs the handlers when the config has no target, and runs done events again only with --force", async () => {
    writeFileSync(dump, deliveryRecords(2) + deliveryRecord("evt_bad", { type: "esim.faulted" }));
    const work = (...flags: string[]) =>
      cli(["import", dump, "--trust-unsigned", "--json", "--config", configOf("handlers"), ...flags], {
        cwd: folder,
        env: { SEEN: join(folder, "seen.txt") },
      });
    const first = await work();
    expect(first.code).toBe(3);
    expect(report(first).ledger).toMatchObject({ stored: 2, rejected: 1 });
    expect(first.stderr).toContain("no SIM •••");
    expect(first.stderr).not.toContain("8932042000001234567");
    expect(report(await work()).ledger).toMatchObject({ stored: 0, duplicate: 2, rejected: 1 });
    const forced = await work("--force", "--types", "esim.enabled");
    expect(report(forced)).toMatchObject({ forced: 2, ledger: { stored: 2, filtered: 1 } });
    expect(forced.stderr).toMatch(/"id":"evt_0".*run again/);
    const seen = readFileSync(join(folder, "seen.txt"), "utf8").trimEnd().split("\n");
    expect(seen).toEqual(["evt_0", "evt_1", "evt_0", "evt_1"].map((id) => `${id} esim.enabled true`));
  });

  it("ends with 1 when the database is unavailable, and prints no password", async () => {
    writeFileSync(dump, deliveryRecords(2));
    const env = { DATABASE_URL: "postgres://me:hunter2@127.0.0.1:9/none" };
    const { code, stdout, stderr } = await cli(["import", dump, "--trust-unsigned"], { cwd: folder, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Error (store_unavailable)");
    expect(stderr).not.toContain("hunter2");
  });

  it.each([
    ["the file does not exist", "missing.ndjson", [], "There is no such file."],
    ["it is a directory", ".", [], "It is a directory."],
    ["--rejects would overwrite it", "dump.ndjson", ["--rejects", "./dump.ndjson"], "is the dump itself"],
    [
      "--checkpoint would overwrite it",
      "dump.ndjson",
      ["--checkpoint", "./dump.ndjson"],
      "is the dump itself",
    ],
    ["--map has no path", "dump.ndjson", ["--map", "eventId"], "is not of the form field=path"],
    [
      "the flags contradict each other",
      "dump.ndjson",
      ["--checkpoint", "c", "--no-checkpoint"],
      "contradict",
    ],
  ])("refuses a dump and ends with 2 when %s", async (_name, name, flags, says) => {
    writeFileSync(dump, deliveryRecords(1));
    const { code, stdout, stderr } = await run(name, ...flags);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(says);
    expect(readFileSync(dump, "utf8")).toBe(deliveryRecords(1));
  });

  it("asks for --source or --new-source when the inbox holds only events of another endpoint", async () => {
    writeFileSync(dump, deliveryRecords(2));
    expect((await trusted("--source", "prod")).code).toBe(0);
    const { code, stderr } = await trusted();
    expect(code).toBe(2);
    expect(stderr).toMatch(/\(source_unknown\).*source "prod".*Set --source prod, or --new-source if/);
    expect((await trusted("--source", "prod")).code).toBe(0);
    expect((await trusted("--source", "eu")).code).toBe(2);
    expect((await trusted("--source", "eu", "--new-source")).code).toBe(0);
  });

  it("ends with 3 when the format of the dump is unknown", async () => {
    writeFileSync(dump, "Dear customer,\nplease find attached nothing.\n");
    const { code, stderr } = await trusted();
    expect(code).toBe(3);
    expect(stderr).toContain("Error (unknown_dump)");
    expect(existsSync(`${dump}.checkpoint.json`)).toBe(false);
  });
});
