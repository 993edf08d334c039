import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cli, folder } from "../cli.ts";

/** A config whose stores note in a file that they are closed. One of them fails to close. */
const config = (more: string) => `import { appendFileSync } from "node:fs";
  const noting = (name) => ({ async close() {
    appendFileSync(new URL("closed", import.meta.url), name + "\\n");
    if (name === "target") throw new Error("it cannot be closed");
  } });
  const target = { ...noting("target"), put: async () => [] };
  const state = { ...noting("state"), read: async () => undefined, write: async () => true };
  const store = { ...noting("store"), claim() {}, extend() {}, complete() {}, release() {} };
  export default { ${more} };`;

it.each<[string, string[], string, string[]]>([
  ["needs credentials", ["reconcile", "--since", "1h"], "target", ["target"]],
  ["needs an inbox", ["inbox", "stats"], "target", ["target"]],
  ["needs handlers", ["work"], "target, state", ["state", "target"]],
  ["has a misspelt option", ["serve"], "store, stat: state", ["store"]],
  ["has a store and a target", ["serve"], "store, target", ["store", "target"]],
  ["needs a secret", ["send", "esim.faulted"], "target", ["target"]],
])("what a config has opened is closed if a command fails because it %s", async (_, args, more, names) => {
  const cwd = folder({ "esim-webhooks.config.mjs": config(more) });
  const { code, stderr } = await cli(args, { cwd, env: { ESIM_WEBHOOK_SECRET: "" } });
  expect([code, stderr]).toEqual([2, expect.not.stringContaining("it cannot be closed")]);
  const closed = readFileSync(join(cwd, "closed"), "utf8").trim().split("\n");
  expect([...new Set(closed)].sort()).toEqual(names);
});
