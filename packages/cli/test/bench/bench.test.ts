import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "@esim-webhooks/core/internal";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { benchView } from "../../src/bench/bench.ts";
import { measurePuts, measureWorker } from "../../src/bench/measure.ts";
import { begin, cli, folder } from "../cli.ts";

const noSignal = new AbortController().signal;

describe("bench on SQLite", () => {
  it("measures the disk of the named file, leaves its inbox as it is, and removes what it made", async () => {
    const cwd = folder();
    expect((await cli(["migrate"], { cwd })).code).toBe(0);
    const path = join(cwd, ".esim-webhooks/events.db");
    const before = [readdirSync(join(cwd, ".esim-webhooks")), readFileSync(path)];
    symlinkSync(path, join(cwd, "link.db")); // to another disk, perhaps
    const args = ["bench", "--inbox", "link.db", "--seconds", "1", "--json"];
    const { code, stdout, stderr } = await cli(args, { cwd });
    expect(code).toBe(0);
    const result = JSON.parse(stdout);
    expect(result).toEqual({
      engine: "SQLite",
      version: process.versions["sqlite"],
      where: `SQLite in ${join(cwd, ".esim-webhooks")}`,
      stored: { ...anyFigures(100), p50Ms: expect.any(Number), p99Ms: expect.any(Number) },
      handled: anyFigures(20),
    });
    expect(stderr).toMatch(
      /^Measuring SQLite in .*\.esim-webhooks for at most 1 s, in the folder .*, which is removed/,
    );
    expect([readdirSync(join(cwd, ".esim-webhooks")), readFileSync(path)]).toEqual(before);
  });

  it("ends with the error when the disk fails midway, and leaves nothing", async () => {
    const cwd = folder();
    const run = begin(["bench", "--inbox", ".", "--seconds", "60"], { cwd });
    const [, made = ""] = await run.written(/in the folder (\S+),/);
    rmSync(join(made, "events.db"));
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Error (database_moved):");
    expect(existsSync(made)).toBe(false);
  });

  it("is interrupted by a signal, says so, and leaves nothing", async () => {
    const cwd = folder();
    const run = begin(["bench", "--inbox", ".", "--seconds", "60"], { cwd });
    const [, made = ""] = await run.written(/in the folder (\S+),/);
    run.kill("SIGINT");
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
    expect(stderr).toContain("Stopping: finishing the removal of what was made.");
    expect(stderr).toContain("Nothing was measured. Run it again.");
    expect(existsSync(made)).toBe(false);
  });

  it.each([
    ["a missing path", ["--inbox", "no.db"], "There is no file or folder no.db. Name an SQLite file, or"],
    ["no inbox", [], "There is no file or folder .esim-webhooks."],
    ["Redis", ["--inbox", "redis://db"], "bench measures Postgres and SQLite, not BullMQ on Redis. In a"],
    ["a password", ["--inbox", "postgres://me:pw@db/x"], "--inbox contains a password"],
    ["more than a minute", ["--seconds", "61"], '"61" is not a whole number from 1 to 60.'],
  ])("refuses %s, and says what to do", async (_name, args, says) => {
    const ended = await cli(["bench", ...args], { cwd: folder() });
    expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(says) });
  });
});

const anyFigures = (concurrency: number) => ({
  events: expect.any(Number),
  seconds: expect.any(Number),
  perSecond: expect.any(Number),
  concurrency,
});

describe("the figures", () => {
  it("are of a part of the seconds, also one that is no whole number of milliseconds", async () => {
    const limits = { seconds: 3 * 0.05, signal: noSignal };
    const inbox = memoryInbox();
    expect(await measurePuts(inbox, 10, limits)).toMatchObject({ events: 10 });
    expect(await measureWorker(inbox, 10, limits, silentLogger)).toMatchObject({ events: 10 });
  });

  it("are those of all events when there are no more to store or to handle", async () => {
    const limits = { seconds: 60, signal: noSignal };
    const inbox = memoryInbox();
    expect(await measurePuts(inbox, 300, limits)).toMatchObject({ events: 300, concurrency: 100 });
    expect(await measureWorker(inbox, 300, limits, silentLogger)).toMatchObject({ events: 300 });
    expect((await inbox.stats()).states).toMatchObject({ done: 300, ready: 0, leased: 0 });
  });

  it("are a table for people, with units", () => {
    const stored = {
      events: 48_210,
      seconds: 4.5,
      perSecond: 10_713,
      concurrency: 100,
      p50Ms: 8.1,
      p99Ms: 20,
    };
    const handled = { events: 12_080, seconds: 4.5, perSecond: 2684, concurrency: 20 };
    const where = "Postgres at db:5432/webhooks";
    expect(benchView({ engine: "Postgres", version: "17.2", where, stored, handled }, {})).toEqual([
      "Postgres at db:5432/webhooks, version 17.2",
      "",
      "         EVENTS  SECONDS  EVENTS/S  AT A TIME  P50 OF A PUT       P99",
      "stored   48,210     4.50    10,713        100       8.10 ms  20.00 ms",
      "handled  12,080     4.50     2,684         20",
    ]);
  });
});
