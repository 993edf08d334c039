import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { cliProcess, folder, start } from "./cli.ts";

/** Prints the URL of each module when it is loaded. */
const printLoads = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ load(url, context, next) { process.stderr.write("loaded " + url + "\\n"); return next(url, context); } });
`)}`;

describe("the program", () => {
  it.each([["--version"], ["--help"], ["serve", "--help"], ["api", "--help"]])(
    "loads none of zod, the client, pg, node:sqlite, and of core only what makes lines, for %s %s",
    async (...args) => {
      const { stderr } = await cliProcess(args, { node: ["--import", printLoads] });
      const loaded = stderr.match(/loaded \S+/g) ?? [];
      expect(loaded.length).toBeGreaterThan(5);
      expect(
        loaded.filter((url) =>
          /\/(?:zod|pg|kysely|ioredis|core\/src\/(?!log-lines|base\/(?:masking|errors|colours|line-logger|printable|shown-error|thrown)\.)|client\/src|packages\/store-\w+)\/|^loaded node:sqlite/.test(
            url.replace("@stricli/core", ""),
          ),
        ),
      ).toEqual([]);
    },
  );

  it("loads none of pg, kysely and, on the main thread, SQLite for an embedded inbox", async () => {
    const cwd = folder({ "empty.ndjson": "" });
    expect((await cliProcess(["import", "empty.ndjson"], { cwd })).code).toBe(0);
    const { code, stderr } = await cliProcess(["inbox", "stats"], { cwd, node: ["--import", printLoads] });
    expect(code).toBe(0);
    expect(stderr).toMatch(/loaded \S+store-sqlite/);
    expect(stderr).not.toMatch(/loaded \S*(?:\/pg\/|\/kysely\/|store-postgres|store-redis|node:sqlite)/);
  });

  it("ends without an error when its reader closes standard output", async () => {
    const { child, ended } = start(["--help"]);
    child.stdout?.destroy();
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("ends when its command is done, even if the config has left a timer open", async () => {
    const cwd = folder({ "esim-webhooks.config.mjs": "setInterval(() => {}, 1000); export default {};" });
    expect(await cliProcess(["doctor", "--json"], { cwd })).toMatchObject({ code: 0, stderr: "" });
  });

  it("ends with 1, and says so, when the config awaits a promise that never settles", async () => {
    const cwd = folder({ "esim-webhooks.config.mjs": "await new Promise(() => {});" });
    const { code, stderr } = await cliProcess(["doctor"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error \(unexpected\): A promise never settled, .+\n$/);
  });

  it("ends by SIGINT while it waits for standard input", async () => {
    const { child, ended } = start(["verify"], {
      node: ["--import", "data:text/javascript,process.stdin.unref?.()"],
    });
    await once(child, "spawn");
    child.kill("SIGINT");
    await ended;
    expect(child.signalCode).toBe("SIGINT"); // a shell reports this as 130
  });
});
