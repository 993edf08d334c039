import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { root } from "../../../test/run.ts";
import { begin, cli, folder, jsonLines } from "./cli.ts";
import { deliveryRecords } from "./import/dump.ts";

/** Lints a file for names that the sources of the command line may not use, as `npm run check` lints the sources. */
function lint(cwd: string, path: string) {
  const args = ["lint", "--vcs-enabled=false", "--only=style/noRestrictedGlobals", path];
  return spawnSync(join(root, "node_modules/.bin/biome"), args, { cwd }).status;
}

describe("the sources of the command line", () => {
  it("are refused by `npm run check` if another one than main.ts uses the global process", () => {
    const copy = folder({ "biome.json": readFileSync(join(root, "biome.json"), "utf8") });
    mkdirSync(join(copy, "packages/cli/src"), { recursive: true });
    for (const [file, status] of [
      ["main.ts", 0],
      ["new.ts", 1],
    ] as const) {
      const path = join("packages/cli/src", file);
      writeFileSync(join(copy, path), "export const here: string = process.cwd();\n");
      expect(lint(copy, path)).toBe(status);
    }
  });
});

describe("a run of the command line within another process", () => {
  it("has its own folder, variables, config and output, also next to another run", async () => {
    const runs = await Promise.all(
      ["one", "two"].map(async (name, index) => {
        const secret = newSecret();
        const cwd = folder({
          "esim-webhooks.config.mjs": `export default { path: "/${name}" };`,
          "dump.ndjson": deliveryRecords(index + 1),
        });
        await cli(["import", "dump.ndjson", "--trust-unsigned"], { cwd });
        return { events: index + 1, cwd, env: { ESIM_WEBHOOK_SECRET: secret } };
      }),
    );
    const here = process.cwd();
    const ended = await Promise.all(
      runs.map(async ({ events, cwd, env }) => {
        const [listed, examined, imported, backedUp] = await Promise.all([
          cli(["inbox", "list", "--json"], { cwd, env }),
          cli(["doctor", "--json"], { cwd, env }),
          cli(["import", "dump.ndjson", "--dry-run", "--trust-unsigned", "--json"], { cwd, env }),
          cli(["inbox", "backup", "copy.db"], { cwd, env }),
        ]);
        expect(jsonLines(listed)).toHaveLength(events);
        expect(examined.code).toBe(0);
        expect(examined.stdout).toContain(join(cwd, "esim-webhooks.config.mjs"));
        expect(imported).toMatchObject({ code: 0, stderr: "" });
        expect(backedUp.stdout).toContain("to copy.db: ");
        expect(readFileSync(join(cwd, "copy.db")).length).toBeGreaterThan(0);
        return /key:[0-9a-f]{8}/.exec(examined.stdout)?.[0];
      }),
    );
    expect(new Set(ended).size).toBe(2);
    expect(process.cwd()).toBe(here);
  });

  it("imports its config again, since the command before closed the inbox of it", async () => {
    const cwd = folder({
      "esim-webhooks.config.mjs": `import { sqliteInbox } from "@esim-webhooks/store-sqlite";
        export default { target: sqliteInbox({ path: import.meta.dirname + "/own.db" }) };`,
    });
    for (let n = 0; n < 2; n++) expect(await cli(["migrate"], { cwd })).toMatchObject({ code: 0 });
  });

  it("masks the secrets in its own variables", async () => {
    const env = { ESIM_CLIENT_SECRET: "hunter2-hunter2", ESIM_WEBHOOK_SECRET: "" };
    const { code, stderr } = await cli(["import", "hunter2-hunter2.ndjson"], { env });
    expect(code).toBe(2);
    expect(stderr).toContain("•••.ndjson cannot be imported.");
  });

  it("has its own clock", async () => {
    const now = () => Date.parse("2100-01-02T00:00:00Z");
    const args = ["inbox", "pause", "--reason", "x", "--until", "2100-01-01"];
    const { code, stderr } = await cli(args, { now });
    expect(code).toBe(2);
    expect(stderr).toContain('"2100-01-01" has passed.');
  });

  it("stops by a signal that is sent to it alone", async () => {
    const serving = begin(["serve", "--port", "0"], { cwd: folder() });
    await serving.written(/Listening at /);
    serving.kill("SIGTERM");
    expect(await serving.ended).toMatchObject({ code: 0, stderr: expect.stringContaining("Stopping: ") });
  });
});
