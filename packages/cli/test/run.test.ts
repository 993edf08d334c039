import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { root } from "../../../test/run.ts";
import { begin, cli, folder, jsonLines } from "./cli.ts";
import { deliveryRecords } from "./import/dump.ts";

/** The result of linting the sources of the command line for names that they may not use, or a text as one of its files. */
function lint(...file: readonly [] | readonly [name: string, text: string]) {
  const [name, input] = file;
  const what = name === undefined ? [] : [`--stdin-file-path=packages/cli/src/${name}`];
  const args = ["lint", "--only=style/noRestrictedGlobals", "--error-on-warnings", ...what];
  const biome = join(root, "node_modules/.bin/biome");
  return spawnSync(biome, name === undefined ? [...args, "packages/cli/src"] : args, { cwd: root, input });
}

describe("the sources of the command line", () => {
  it("use the process of their context, and only main.ts the global one", () => {
    const { status, stderr } = lint();
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: "" });
    const reading = "export const here: string = process.cwd();\n";
    expect(lint("send/new.ts", reading).status).toBe(1);
    expect(lint("main.ts", reading).status).toBe(0);
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

  it("stops by a signal that is sent to it alone", async () => {
    const serving = begin(["serve", "--port", "0"], { cwd: folder() });
    await serving.written(/Listening at /);
    serving.kill("SIGTERM");
    expect(await serving.ended).toMatchObject({ code: 0, stderr: expect.stringContaining("Stopping: ") });
  });
});
