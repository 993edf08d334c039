import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cliProcess as cli, folder, jsonLines, start } from "./cli.ts";

it("lets a newcomer type the commands of the README in its order: serve, send, look into the inbox and process it, with nothing configured, one command beside the other", async () => {
  const cwd = folder();
  const serving = start(["serve", "--port", "0"], { cwd });
  const [, url = ""] = await serving.written(/Listening at (\S+)/);

  const sent = await cli(["send", "esim.faulted", "--url", url], { cwd });
  expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('✔ 202  {"outcome":"stored"}') });
  const [id = ""] = /msg_\S+/.exec(sent.stdout) ?? [];

  const twice = await cli(["send", "esim.enabled", "--fault", "duplicate", "--url", url], { cwd });
  expect(twice.code).toBe(0);
  expect(twice.stdout).toMatch(/"stored".*\n.*"already_stored"/);

  const listed = await cli(["inbox", "list"], { cwd }); // beside the running serve
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(new RegExp(`^${id} +esim\\.faulted +ready`, "m"));
  expect(listed.stdout).toMatch(/^msg_\S+ +esim\.enabled +ready/m);
  const shown = await cli(["inbox", "show", id], { cwd });
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^state +ready/m) });

  const config = `import { defineConfig } from "@esim-webhooks/cli";
    export default defineConfig({ handlers: { "esim.faulted": ({ data }, { logger }) => logger.info({ reason: data.reason }, "handled") } });`;
  writeFileSync(join(cwd, "esim-webhooks.config.ts"), config);
  const working = start(["work"], { cwd });
  await working.written(new RegExp(`"id":"${id}".*"outcome":"done"`));
  const again = await cli(["send", "esim.faulted", "--url", url], { cwd }); // stored by one process, heard of by the other
  const [next = ""] = /msg_\S+/.exec(again.stdout) ?? [];
  await working.written(new RegExp(`"id":"${next}".*"outcome":"done"`));
  expect(jsonLines(await cli(["inbox", "stats", "--exact", "--json"], { cwd }))).toMatchObject([
    { states: { ready: 0, done: 2, unhandled: 1 } },
  ]);

  for (const { child } of [serving, working]) child.kill("SIGTERM");
  expect(await serving.ended).toMatchObject({ code: 0 });
  expect(await working.ended).toMatchObject({ code: 0 });
});
