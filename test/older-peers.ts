import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { installed } from "./installed.ts";
import { root } from "./run.ts";

/**
 * Puts what a folder has in its package.json in place of what the repository is developed with, for every import that comes
 * later, and adds a test that it has. Returns a function that imports one of these packages.
 */
export function putInPlace(folder: Parameters<typeof installed>[0]): (name: string) => Promise<unknown> {
  const require = createRequire(join(installed(folder), ".."));
  const load = (name: string) => import(require.resolve(name));
  const { dependencies } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) vi.doMock(name, () => load(name));
  it.each(Object.entries<string>(dependencies))("runs with %s %s", async (name, version) => {
    const { version: found } = require(join(installed(folder), name, "package.json"));
    expect(version).toMatch(new RegExp(`(?:^|@)${found}$`));
    const imported = await import(name);
    for (const [key, value] of Object.entries(await load(name))) expect(imported[key], key).toBe(value);
  });
  return load;
}
