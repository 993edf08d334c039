import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const src = join(import.meta.dirname, "../src");

it("no message of this package names a command or a flag: its reader calls functions", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const command =
    /esim-webhooks (?:api|endpoint|reconcile|rotate|listen|doctor)\b|endpoint ensure|(?<![\w-])--[a-z]/;
  const naming = files.filter((file) => command.test(readFileSync(join(src, file), "utf8")));
  expect(naming).toEqual([]);
});
