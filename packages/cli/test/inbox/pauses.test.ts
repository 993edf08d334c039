import { hostname, userInfo } from "node:os";
import { beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { cli, type Ended, folder, jsonLines } from "../cli.ts";
import { openedAt, storeAt } from "../stored.ts";

let cwd: string;
beforeEach(() => {
  cwd = folder();
});
const inbox = (...args: string[]): Promise<Ended> => cli(["inbox", ...args], { cwd });
const opened = () => openedAt(cwd);

describe("inbox pause and resume", () => {
  beforeEach(() => storeAt(cwd, [entry("a", { type: "esim.faulted" }), entry("b")]));

  it("stop the types for that long, and say what is paused, by whom, why, and how to resume", async () => {
    const paused = await inbox("pause", "--types", "esim.faulted", "--for", "2h", "--reason", "CRM is down");
    expect(paused.code).toBe(0);
    const operator = `${userInfo().username}@${hostname()}`.replaceAll(".", "\\.");
    expect(paused.stdout).toMatch(
      new RegExp(
        `^Paused: esim\\.faulted since \\S+ \\S+Z \\(.+\\), until \\S+ \\S+Z \\(in \\S+ \\S+\\), by ${operator}: CRM is down\\n$`,
      ),
    );
    expect(paused.stderr).toBe(
      "Workers stop taking these events at their next poll. Receivers store events as before. To resume: esim-webhooks inbox resume --types esim.faulted\n",
    );
    const own = opened();
    expect((await own.take({ limit: 10, leaseMs: 1000 })).map(({ id }) => id)).toEqual(["b"]);
    expect((await inbox("paused")).stdout).toMatch(/^esim\.faulted +(now|\d+s ago) +.* +CRM is down$/m);
    expect((await inbox("show", "a")).stdout).toMatch(
      /^waits +Its type is paused by .* since .*: CRM is down$/m,
    );
    expect((await inbox("stats")).stdout).toMatch(
      /^Paused: esim\.faulted since .*: CRM is down\. To resume: esim-webhooks inbox resume --types esim\.faulted$/m,
    );
    const resumed = await inbox("resume", "--types", "esim.faulted");
    expect(resumed).toMatchObject({ code: 0, stderr: "" });
    expect(resumed.stdout).toMatch(
      /^Resumed: esim\.faulted \(paused since \S+ \S+Z, by .*: CRM is down\)\n$/,
    );
    expect(await own.paused()).toEqual([]);
  });

  it("take families of types, and all types; and resume says what is still paused", async () => {
    await inbox("pause", "--types", "esim.lifecycle.*", "--reason", "CRM is down", "--by", "ops");
    const all = await inbox("pause", "--reason", "maintenance", "--until", "2999-01-01", "--json");
    expect(jsonLines(all)).toEqual([
      [expect.objectContaining({ type: null, reason: "maintenance", until: "2999-01-01T00:00:00.000Z" })],
    ]);
    const some = await inbox("resume", "--types", "esim.lifecycle.suspended");
    expect(some.stdout).toMatch(
      /^Resumed: esim\.lifecycle\.suspended \(paused since .*, by ops: CRM is down\)\n$/,
    );
    expect(some.stderr).toMatch(/^Still paused: all types, esim\.lifecycle\.activated, /);
    expect(some.stderr).toMatch(/The pause of all types also holds .*: esim-webhooks inbox resume$/m);
    const rest = await inbox("resume", "--json");
    expect((jsonLines(rest)[0] as unknown as unknown[]).length).toBeGreaterThan(1);
    expect(await inbox("resume")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "Nothing to do: there is no such pause.\n",
    });
    expect(await inbox("paused")).toMatchObject({ code: 0, stdout: "", stderr: "Nothing is paused.\n" });
  });

  it.each<[string, string[], string]>([
    ["no reason", [], "--reason"],
    ["an empty reason", ["--reason", " "], "--reason is empty. Say in a sentence why"],
    [
      "an unknown type",
      ["--types", "esim.faultd", "--reason", "x"],
      '--types esim.faultd matches no event type of the catalog. Did you mean "esim.faulted"?',
    ],
    ["a time that has passed", ["--until", "2020-01-01", "--reason", "x"], '"2020-01-01" has passed.'],
    [
      "two ends",
      ["--until", "2999-01-01", "--for", "2h", "--reason", "x"],
      "--for and --until both say when the pause ends. Remove one of them.",
    ],
  ])("refuse %s, and pause nothing", async (_, args, message) => {
    const { code, stdout, stderr } = await inbox("pause", ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(await opened().paused()).toEqual([]);
  });
});
