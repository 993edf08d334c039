import type { Command, RouteMap } from "@stricli/core";
import { expect, it } from "vitest";
import { commands } from "../../src/commands.ts";
import type { CliContext } from "../../src/program/context.ts";
import { cli, folder } from "../cli.ts";
import { startService } from "./service.ts";

const url = "https://shop.example/webhooks";

/** The commands that write to the API, or bring what it lists into the inbox, with arguments that let them begin. */
const writing: Readonly<Record<string, readonly string[]>> = {
  "api endpoints create": [url, "--print-secret"],
  "api endpoints delete": ["WHE6JJ1OFDTD", "--yes"],
  "endpoint ensure": [url, "--key-file", "esim.key"],
  reconcile: ["--since", "1h"],
  "replay-request": [],
  rotate: ["--key-file", "esim.key"],
};

/** The others: they call no API, or read there. */
const others = [
  "api client, api deliveries, api endpoints list, api event-types, api variants, bench, completion install",
  "completion uninstall, dashboard, doctor, events describe, events drift, events list, import, inbox backup",
  "inbox copy, inbox discard, inbox erase, inbox errors, inbox give-up, inbox list, inbox pause, inbox paused",
  "inbox purge, inbox resume, inbox retry, inbox show, inbox stats, inbox workers, listen, migrate, rehearse",
  "sandbox, send, serve, verify, work",
].flatMap((names) => names.split(", "));

/** The names of all commands, such as `api endpoints list`. */
async function allCommands(): Promise<string[]> {
  const names: string[] = [];
  const add = (name: string, target: Command<CliContext> | RouteMap<CliContext>) => {
    if (!("getAllEntries" in target)) names.push(name);
    else
      for (const entry of target.getAllEntries())
        add(`${name} ${entry.name["convert-camel-to-kebab"]}`, entry.target);
  };
  for (const [name, { load }] of Object.entries(commands)) add(name, await load());
  return names.sort();
}

it("each command is known to write to the API, or not to", async () => {
  expect(await allCommands()).toEqual([...Object.keys(writing), ...others].sort());
});

it("the commands that write name the environment of the API first, also at an address of this machine", async () => {
  const { env, sandbox } = await startService();
  for (const [name, args] of Object.entries(writing)) {
    const { stderr } = await cli([...name.split(" "), ...args], { cwd: folder(), env });
    expect([name, stderr.split("\n")[0]]).toEqual([name, `API: ${sandbox.url} (this machine)`]);
  }
});

it("an address elsewhere is of production, or of the test environment", async () => {
  const address = "https://api.invalid/api/v3";
  const credentials = { CLIENT_ID: "1", CLIENT_SECRET: "secret", API_URL: address };
  const named = (prefix: string) =>
    Object.fromEntries(Object.entries(credentials).map(([name, value]) => [prefix + name, value]));
  const config = "export default { api: { maxAttempts: 1, timeoutMs: 1000 } };";
  const call = ["api", "endpoints", "delete", "WHE6JJ1OFDTD", "--yes"];
  const run = async (env: Record<string, string>) =>
    (await cli(call, { cwd: folder({ "esim-webhooks.config.mjs": config }), env })).stderr.split("\n")[0];
  expect(await run(named("ESIM_"))).toBe(`API: ${address} (production)`);
  const inTest = { ...named("ESIM_TEST_"), ESIM_ENVIRONMENT: "test" };
  expect(await run(inTest)).toBe(`API: ${address} (the test environment)`);
});
