import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { startReceiver, startService } from "../api/service.ts";
import { cli, folder } from "../cli.ts";

const head = `import { defineConfig } from "@esim-webhooks/cli"; import { defineCatalog } from "@esim-webhooks/core"; import * as z from "zod";`;
const run = `() => { throw new Error("a handler was run"); }`;
const config = (handlers: string, more = "") =>
  `${head} export default defineConfig({ ${more} handlers: { ${handlers} } });`;

const current = config(`"esim.*": ${run}`);
const next = config(
  `"esim.faulted": ${run}, "package.activated": ${run}`,
  `catalog: defineCatalog({ "package.activated": z.looseObject({ packageReference: z.string() }) }),`,
);

const events = [
  ["msg_1", "esim.faulted", sampleData("esim.faulted")],
  ["msg_2", "esim.enabled", sampleData("esim.enabled")],
  ["msg_3", "package.activated", { packageReference: "PKG1" }],
  ["msg_4", "package.activated", { packageReference: 8932042000010012 }],
  ["msg_5", "package.usage", {}],
] as const;

const now = () => Date.parse("2026-11-20T12:00:00Z");
const files = { "esim-webhooks.config.ts": current, "next.config.ts": next };

/** A folder with both configs and a dump of the events. */
function withDump() {
  const cwd = folder(files);
  const lines = events.map(([eventId, eventType, data]) =>
    JSON.stringify({
      eventId,
      eventType,
      payload: { type: eventType, timestamp: "2026-11-20T10:00:00Z", data },
    }),
  );
  writeFileSync(join(cwd, "dump.ndjson"), `${lines.join("\n")}\n`);
  return cwd;
}

describe("rehearse", () => {
  it("says which events of a dump a config would not handle, and why, and runs no handler", async () => {
    const cwd = withDump();
    const ended = await cli(["rehearse", "dump.ndjson", "--config", "next.config.ts", "--json"], {
      cwd,
      now,
    });
    expect(ended).toMatchObject({ code: 3, stderr: "" });
    const why = "data.packageReference: does not fit the schema";
    expect(JSON.parse(ended.stdout)).toEqual({
      events: 5,
      handled: 2,
      known: 0,
      unread: 0,
      findings: [
        { outcome: "unhandled", type: "esim.enabled", why: "", events: 1, exampleId: "msg_2" },
        { outcome: "invalid", type: "package.activated", why, events: 1, exampleId: "msg_4" },
        { outcome: "unknown", type: "package.usage", why: "", events: 1, exampleId: "msg_5" },
      ],
    });
    expect(ended.stdout).not.toContain("8932042");
  });

  it("verifies captured requests of a dump by the keys of a key source", async () => {
    const secret = newSecret();
    const faulted = { type: "esim.faulted", data: sampleData("esim.faulted") };
    const { headers, body } = signedRequest(faulted, { secret, at: new Date(now()) });
    const keyed = config(
      `"esim.faulted": ${run}`,
      `secret: { load: async () => [${JSON.stringify(secret)}] },`,
    );
    const cwd = folder({
      "esim-webhooks.config.ts": keyed,
      "dump.ndjson": `${JSON.stringify({ headers, body, receivedAt: "2026-11-20T12:00:00Z" })}\n`,
    });
    const env = { ESIM_WEBHOOK_SECRET: "" };
    const ended = await cli(["rehearse", "dump.ndjson", "--json"], { cwd, now, env });
    expect(JSON.parse(ended.stdout)).toMatchObject({ events: 1, handled: 1, unread: 0 });
  });

  it("shows only what is new since the current config, and ends with 0 if nothing is", async () => {
    const cwd = withDump();
    const compared = ["--compare", "esim-webhooks.config.ts"];
    const args = ["rehearse", "dump.ndjson", "--config", "next.config.ts", ...compared];
    const ended = await cli(args, { cwd, now });
    expect(ended.code).toBe(3);
    expect(ended.stdout).toMatch(/esim\.enabled +unhandled +msg_2/);
    expect(ended.stdout).toMatch(/package\.activated +invalid +msg_4 +data\.packageReference/);
    expect(ended.stdout).not.toContain("package.usage");
    expect(ended.stderr).toBe(
      "5 events: 2 would be handled, 1 are not handled now either. No handler was run.\n",
    );
    const same = await cli(["rehearse", "dump.ndjson", ...compared], { cwd, now });
    expect(same).toMatchObject({ code: 0, stdout: "" });
  });

  it("reads the bodies that the inbox keeps", async () => {
    const cwd = folder(files);
    const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
    await inbox.put([entry("msg_1"), entry("msg_2")]);
    await inbox.close();
    const none = config(`"esim.deleted": ${run}`);
    writeFileSync(join(cwd, "next.config.ts"), none);
    const ended = await cli(["rehearse", "--config", "next.config.ts", "--since", "7d", "--json"], { cwd });
    expect(JSON.parse(ended.stdout)).toMatchObject({
      events: 2,
      handled: 0,
      findings: [{ outcome: "unhandled", events: 2 }],
    });
  });

  it("reads the listing of the deliveries with the credentials of the API", async () => {
    const { sandbox, api, env } = await startService({ clock: "manual" });
    const url = await startReceiver(200, "");
    await api.webhooks.create({ url, eventTypes: ["esim.faulted", "package.usage"] });
    await sandbox.emit({ type: "esim.faulted", data: sampleData("esim.faulted") });
    await sandbox.emit({ type: "package.usage", data: {} });
    await sandbox.settled();
    const cwd = folder(files);
    const ended = await cli(["rehearse", "--config", "next.config.ts"], { cwd, env });
    expect(ended.code).toBe(3);
    expect(ended.stdout).toContain("package.usage");
    expect(ended.stderr).toContain("2 events: 1 would be handled.");
  });

  it("says what is wrong with a config without handlers, or with an unknown type", async () => {
    const cwd = withDump();
    writeFileSync(join(cwd, "empty.config.ts"), "export default {};");
    writeFileSync(join(cwd, "wrong.config.ts"), `export default { handlers: { "esim.fautled": () => {} } };`);
    expect(await cli(["rehearse", "dump.ndjson", "--config", "empty.config.ts"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has no handlers"),
    });
    expect(await cli(["rehearse", "dump.ndjson", "--config", "wrong.config.ts"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"esim.faulted"'),
    });
  });
});
