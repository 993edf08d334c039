import { join } from "node:path";
import { expect, it } from "vitest";
import { installed } from "./installed.ts";
import { runCommand } from "./run.ts";

const runtimes = join(installed("test/runtimes"), ".bin");

it.each([
  ["Node.js", process.execPath, []],
  ["Bun", join(runtimes, "bun"), []],
  ["Deno", join(runtimes, "deno"), ["run", "--allow-env", "--allow-read"]],
])("deliveries are observed under %s, each in its own async context", async (_, command, flags) => {
  const args = [...flags, "--conditions=@esim-webhooks/source", "test/observe-process.ts"];
  const { code, output } = await runCommand(command, args).ended;
  const lines = output.split("\n").filter((line) => /^(?:receive|handle|in the handler|settle) /.test(line));
  expect({ code, lines: lines.sort() }).toEqual({
    code: 0,
    lines: ["a", "b"]
      .flatMap((id) => [
        `handle ${id} processed`,
        `in the handler of ${id}: ${id}`,
        `receive ${id} processed true`,
        `settle ${id} done`,
      ])
      .sort(),
  });
  expect(output).toContain('The observer of "verify" threw.');
});
