import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { installed } from "../../../test/installed.ts";
import { runCommand } from "../../../test/run.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
afterAll(folder.remove);

const runtimes = join(installed("test/runtimes"), ".bin");

it("names the Node.js that it needs where there is no SQLite", async () => {
  const script = `const { sqliteInbox } = await import("@esim-webhooks/store-sqlite");
    await sqliteInbox({ path: ${JSON.stringify(join(folder.path, "none.db"))} }).ready().catch((error) => console.log(error.code, error.message));`;
  const args = [
    "--no-experimental-sqlite",
    "--conditions=@esim-webhooks/source",
    "--input-type=module",
    "-e",
    script,
  ];
  const { output } = await runCommand(process.execPath, args).ended;
  expect(output).toContain(
    `node_too_old This Node.js, ${process.version}, has no SQLite. Use Node.js 22.18 or newer.`,
  );
});

it.each([
  ["Node.js", process.execPath, []],
  ["Bun", join(runtimes, "bun"), []],
  ["Deno", join(runtimes, "deno"), ["run", "--allow-all"]],
])("stores and works events under %s, and the process ends by itself", async (name, command, flags) => {
  const script = "packages/store-sqlite/test/runtime-process.ts";
  const args = [...flags, "--conditions=@esim-webhooks/source", script, join(folder.path, `${name}.db`)];
  const { code, output } = await runCommand(command, args).ended;
  const lines = output.split("\n").filter((line) => /^(?:put|worked|state|refused) /.test(line));
  const expected = ["put stored", "worked msg_1 1", "state done", "refused database_corrupt"];
  expect({ code, lines, output }).toMatchObject({ code: 0, lines: expected });
});
