import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { startService } from "../api/service.ts";
import { cli, folder, jsonLines } from "../cli.ts";

const url = "https://shop.example/webhooks";

/** A folder with the variables of both environments, each with a service of its own. */
async function bothEnvironments(files: Record<string, string> = {}) {
  const [production, test] = [await startService(), await startService()];
  const named = (name: string, value: string) => [name.replace("ESIM_", "ESIM_TEST_"), value];
  const ofTest = Object.fromEntries(Object.entries(test.env).map((entry) => named(...entry)));
  const cwd = folder(files);
  const env = { ...production.env, ...ofTest };
  return {
    production,
    test,
    cwd,
    run: (...args: string[]) => cli(args, { cwd, env }),
    runInTest: (...args: string[]) => cli(args, { cwd, env: { ...env, ESIM_ENVIRONMENT: "test" } }),
  };
}

const ensure = ["endpoint", "ensure", url, "--types", "esim.faulted", "--key-file"];

it("one variable switches the commands to the test environment, and those that write name where", async () => {
  const { production, test, run, runInTest } = await bothEnvironments();
  const made = await runInTest(...ensure, "test.key");
  expect(made).toMatchObject({ code: 0, stderr: `API: ${test.sandbox.url} (the test environment)\n` });
  const count = async ({ api }: typeof test) => (await api.webhooks.list().page()).data.length;
  expect([await count(production), await count(test)]).toEqual([0, 1]);
  expect((await run("api", "client")).stdout).toContain(production.env["ESIM_CLIENT_ID"]);
  expect((await runInTest("api", "client")).stdout).toContain(test.env["ESIM_CLIENT_ID"]);
});

it("a key file is for one environment", async () => {
  const { cwd, run, runInTest } = await bothEnvironments();
  await runInTest(...ensure, "test.key");
  expect(JSON.parse(readFileSync(join(cwd, "test.key"), "utf8")).environment).toBe("test");
  const refused = await run(...ensure, "test.key");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("(other_environment)")]);
  expect((await run(...ensure, "esim.key")).code).toBe(0);
  expect((await runInTest(...ensure, "esim.key")).stderr).toContain("(other_environment)");
});

it("events and state of the test environment have a folder and a source of their own", async () => {
  const { cwd, run, runInTest } = await bothEnvironments();
  await runInTest(...ensure, "test.key");
  const [report] = jsonLines(await runInTest("reconcile", "--since", "1h", "--json")) as [{ source: string }];
  expect(report.source).toBe("test");
  expect(existsSync(join(cwd, ".esim-webhooks/test/events.db"))).toBe(true);
  expect(existsSync(join(cwd, ".esim-webhooks/events.db"))).toBe(false);
  expect((await run("inbox", "list")).stderr).toContain("There is no inbox in .esim-webhooks.");
});

it("no variable of production stands in for one of the test environment", async () => {
  const env = {
    ...{ ESIM_API_URL: "https://api.example/api/v3", ESIM_CLIENT_ID: "1", ESIM_CLIENT_SECRET: "secret" },
    ESIM_ENVIRONMENT: "test",
  };
  const cwd = folder();
  expect((await cli(["api", "client"], { cwd, env })).stderr).toContain(
    "ESIM_TEST_API_URL, ESIM_TEST_CLIENT_ID and ESIM_TEST_CLIENT_SECRET are not set.",
  );
  const signed = { cwd, env: { ...env, ESIM_WEBHOOK_SECRET: newSecret() } };
  expect((await cli(["send", "esim.faulted"], signed)).stderr).toContain("Set ESIM_TEST_WEBHOOK_SECRET");
  const unknown = await cli(["api", "client"], { cwd, env: { ...env, ESIM_ENVIRONMENT: "staging" } });
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringContaining('ESIM_ENVIRONMENT is "staging"'),
  ]);
});

it("a config with a secret, stores or credentials is used in its own environment alone", async () => {
  const config = (more: string) => `export default { handlers: { "*": () => {} }, ${more} };`;
  const { runInTest, run } = await bothEnvironments({
    "both.config.mjs": config(""),
    "production.config.mjs": config(`secret: "${newSecret()}"`),
    "test.config.mjs": config(`environment: "test", source: "eu"`),
  });
  const client = ["api", "client", "--config"];
  expect((await runInTest(...client, "both.config.mjs")).code).toBe(0);
  const refused = await runInTest(...client, "production.config.mjs");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(
    "is for production: it has secret, which may not be used in the environment test.",
  );
  expect((await runInTest(...client, "test.config.mjs")).code).toBe(0);
  const named = await run("endpoint", "ensure", url, "--key-file", "test.key", "--config", "test.config.mjs");
  expect(named.code).toBe(0); // the config itself switches
});
