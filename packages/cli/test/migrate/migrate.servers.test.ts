import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { postgresState } from "@esim-webhooks/store-postgres";
import { describe, expect, it } from "vitest";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { cli, folder } from "../cli.ts";

describe("migrate", () => {
  it("creates the tables that other commands miss, and does nothing the second time", async () => {
    const schema = `cli_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
    const config = `import { postgresInbox } from "@esim-webhooks/store-postgres";
      export default { target: postgresInbox({ url: ${JSON.stringify(postgresUrl)}, schema: "${schema}" }) };`;
    const cwd = folder({ "esim-webhooks.config.ts": config });
    const { host, pathname } = new URL(postgresUrl);
    const place = `(Postgres at ${host}${pathname}, schema ${schema})`;
    const target = `the target in ${join(cwd, "esim-webhooks.config.ts")} ${place}`;
    const missing = await cli(["inbox", "stats"], { cwd });
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `${target.replace("t", "T")} is not set up for this version. Run esim-webhooks migrate.`,
      ),
    });
    for (const _ of ["once", "and again"])
      expect(await cli(["migrate"], { cwd })).toEqual({
        code: 0,
        stdout: `Set up for this version: ${target}.\n`,
        stderr: "",
      });
    expect((await cli(["inbox", "stats", "--exact"], { cwd })).stdout).toBe("The inbox is empty.\n");
  });

  it("creates the tables of the config's state, too", async () => {
    const schema = `cli_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
    const cwd = folder({
      "esim-webhooks.config.mjs": `import { postgresState } from "@esim-webhooks/store-postgres";
        import { sqliteInbox } from "@esim-webhooks/store-sqlite";
        export default {
          target: sqliteInbox({ path: import.meta.dirname + "/events.db" }),
          state: postgresState({ url: ${JSON.stringify(postgresUrl)}, schema: "${schema}" }),
        };`,
    });
    expect((await cli(["migrate"], { cwd })).code).toBe(0);
    const state = postgresState({ url: postgresUrl, schema });
    expect(await state.read("anything")).toBeUndefined();
    await state.close();
  });

  it("says how to name a store when it set up the default inbox because there is no config file", async () => {
    const { code, stdout, stderr } = await cli(["migrate"], { cwd: folder() });
    expect(code).toBe(0);
    expect(stdout).toBe("Set up for this version: the embedded inbox in .esim-webhooks.\n");
    expect(stderr).toContain("There is no config file here");
    expect(stderr).toContain("name it in esim-webhooks.config.ts");
  });

  it("creates the embedded inbox in the folder that was named", async () => {
    const cwd = folder();
    const { stdout } = await cli(["migrate", "--data-dir", "data", "--json"], { cwd });
    expect(JSON.parse(stdout)).toEqual({ migrated: "the embedded inbox in data" });
    expect(existsSync(join(cwd, "data/events.db"))).toBe(true);
  });
});
