import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cli, folder } from "../cli.ts";

it.each([
  ["/bin/bash", ".bashrc"],
  ["/usr/bin/zsh", ".zshrc"],
  ["/usr/bin/fish", ".config/fish/completions/esim-webhooks.fish"],
])("completion for %s is installed into %s, which may be missing, and removed again", async (SHELL, name) => {
  const home = folder();
  const file = join(home, name);
  const env = { HOME: home, SHELL };
  const installed = await cli(["completion", "install"], { env });
  expect(installed).toMatchObject({ code: 0, stderr: expect.stringContaining(file) });
  const text = readFileSync(file, "utf8");
  expect(text).toContain("esim-webhooks __complete");
  await cli(["completion", "install"], { env });
  expect(readFileSync(file, "utf8")).toBe(text);
  expect((await cli(["completion", "uninstall"], { env })).code).toBe(0);
  expect(readFileSync(file, "utf8")).toBe("");
});

it("completion leaves the user's own lines as they are", async () => {
  const home = folder({ ".bashrc": "# mine\n\nalias ll='ls -l'" });
  const env = { HOME: home, SHELL: "/bin/bash" };
  await cli(["completion", "install"], { env });
  expect(readFileSync(join(home, ".bashrc"), "utf8")).toMatch(/^# mine\n\nalias ll='ls -l'\n# esim-webhooks/);
  await cli(["completion", "uninstall"], { env });
  expect(readFileSync(join(home, ".bashrc"), "utf8")).toBe("# mine\n\nalias ll='ls -l'\n");
});

it.each([
  ["/bin/tcsh", "There is no completion for tcsh. Set SHELL to one of: bash, zsh, fish."],
  ["", "SHELL is not set, so your shell is not known. Set SHELL to one of: bash, zsh, fish."],
])("completion for the shell %j is refused, and nothing is written", async (SHELL, message) => {
  const home = folder();
  const { code, stderr } = await cli(["completion", "install"], { env: { HOME: home, SHELL } });
  expect([code, stderr]).toEqual([2, `Error (invalid_usage): ${message}\n`]);
  expect(existsSync(join(home, ".bashrc"))).toBe(false);
});

it.each(["install", "uninstall"])("completion %s names a file that it cannot change", async (command) => {
  const home = folder();
  mkdirSync(join(home, ".bashrc"));
  const { code, stderr } = await cli(["completion", command], { env: { HOME: home, SHELL: "/bin/bash" } });
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^Error \(invalid_usage\): The file of your shell, .*\.bashrc, cannot be changed \(EISDIR\)\. Make it a file/,
  );
});
