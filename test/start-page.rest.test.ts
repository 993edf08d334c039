import { mkdtemp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./run.ts";
import { followStartPage, startCommands } from "./start-page.ts";

it("docs/start.md has at most 15 commands, each part of a chain or a pipe counted, and says how many", async () => {
  const { page, commands } = await startCommands();
  expect(commands.length).toBeLessThanOrEqual(15);
  expect(page).toContain(`\n${commands.length} commands, against `);
});

it("docs/start.md gets a new user from nothing to a reconciled receiver with a dashboard and an alert", async () => {
  const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-start-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const cli = `${process.execPath} --conditions=@esim-webhooks/source ${join(root, "packages/cli/src/main.ts")}`;
  const prelude = `npx() { shift; exec ${cli} "$@"; }; curl() { command curl -S "$@"; }`;
  await followStartPage({ folder, prelude, npm: () => undefined });
});
