import { readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { readWatermark } from "@esim-webhooks/endpoint";
import { sqliteState } from "@esim-webhooks/store-sqlite";
import { describe, expect, it } from "vitest";
import { startService } from "../api/service.ts";
import { type CliOptions, cli, cliProcess, folder, jsonLines } from "../cli.ts";
import { startBackend } from "./backend.ts";
import { skippingWaits } from "./skipping-waits-here.ts";

const url = "https://shop.example/webhooks";

/** Its path is relative to the folder of the process, which is another one for commands in this process. */
const config = `
  import { relative } from "node:path";
  import { fileURLToPath } from "node:url";
  import { defineConfig } from "@esim-webhooks/cli";
  import { fileKeySource } from "@esim-webhooks/core/key-file";
  export default defineConfig({
    secret: fileKeySource(relative("", fileURLToPath(new URL("esim.key", import.meta.url)))),
    handlers: { "esim.enabled": () => {}, "esim.lifecycle.*": () => {} },
  });
`;

/** The service, and the command in a folder with these files. */
async function startEnsure(files: Readonly<Record<string, string>> = { "esim-webhooks.config.ts": config }) {
  const service = await startService();
  const cwd = folder(files);
  const ensure = (args: readonly string[] = [], options: CliOptions = {}) =>
    cli(["endpoint", "ensure", url, ...args], { cwd, ...options, env: { ...service.env, ...options.env } });
  /** In a process of its own, which shows the path of the config as it does to users. */
  const ensureProcess = (...args: readonly string[]) =>
    cliProcess(["endpoint", "ensure", url, ...args], { cwd, env: service.env });
  return { ...service, cwd, ensure, ensureProcess, keyFile: join(cwd, "esim.key") };
}

describe("endpoint ensure", () => {
  it("registers an endpoint for the handlers of the config, and stores its secret in its key file", async () => {
    const { ensureProcess, api, keyFile, sandbox } = await startEnsure();
    const { code, stdout, stderr } = await ensureProcess();
    expect({ code, stderr }).toEqual({ code: 0, stderr: `API: ${sandbox.url} (this machine)\n` });
    const [endpoint] = (await api.webhooks.list().page()).data;
    expect(stdout).toBe(
      `Registered the endpoint ${endpoint?.webhookEndpointReference} for 4 event types. Its signing secret is in esim.key.\n`,
    );
    expect(endpoint?.eventTypes).toContain("esim.lifecycle.suspended");
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(await fileKeySource(keyFile).load())).toContain("whsec_");
  });

  it("says how receivers read a key file that the config does not name yet", async () => {
    const { ensure } = await startEnsure({});
    const args = ["--types", "esim.enabled", "--key-file", "hook.key"];
    expect((await ensure(args)).stdout).toMatch(
      /Its signing secret is in hook\.key\.\nSo that receivers read it, give the config secret: fileKeySource\("hook\.key"\), of @esim-webhooks\/core\/key-file\.\n$/,
    );
    const named = await startEnsure({ "esim-webhooks.config.ts": config.replace("esim.key", "./hook.key") });
    const { stdout } = await named.ensureProcess("--key-file", "hook.key");
    expect(stdout).toMatch(/^Registered .* Its signing secret is in hook\.key\.\n$/);
  });

  it("finds it the next time, and says what is wrong with exit code 3", async () => {
    const { ensure, sandbox, keyFile } = await startEnsure();
    await ensure();
    const before = readFileSync(keyFile, "utf8");
    expect(await ensure()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^Found the endpoint \S+ for 4 event types at https:\/\/shop\.example\/webhooks\.\n$/,
      ),
    });
    await sandbox.retireEventType("esim.enabled");
    const found = await ensure(["--types", "esim.lifecycle.*,esim.faulted"]);
    expect(found.code).toBe(3);
    expect(found.stdout).toMatch(
      /✘ {2}not_subscribed: The endpoint is not subscribed to esim\.faulted: no such event comes\. .*: esim-webhooks endpoint ensure https:\/\/shop\.example\/webhooks --types 'esim\.lifecycle\.\*,esim\.faulted' --replace$/m,
    );
    expect(found.stdout).toMatch(
      /✘ {2}retired: The endpoint is subscribed to esim\.enabled, which the service no longer offers/,
    );
    expect(readFileSync(keyFile, "utf8")).toBe(before);
  });

  it("says that it registered an endpoint beside others, since the URL may be mistyped, and how to undo it", async () => {
    const { ensure, api } = await startEnsure();
    const { webhookEndpointReference: other } = await api.webhooks.create({
      url: "https://me:hunter2@shop.exampel/webhooks",
      eventTypes: ["esim.enabled"],
    });
    const { code, stdout } = await ensure();
    expect(code).toBe(3);
    const [, made = ""] = /^Registered the endpoint (\S+) /.exec(stdout) ?? [];
    expect(stdout).toContain(
      `✘  other_endpoints: A new endpoint was registered, ${made} (shop.example/webhooks). The client also has 1 other: ${other} (shop.exampel/webhooks). If the URL is mistyped, delete the new endpoint: esim-webhooks api endpoints delete ${made}. If you need all of them, do nothing: this is said only once.\n`,
    );
    expect(await ensure()).toMatchObject({ code: 0, stdout: expect.not.stringContaining("✘") });
  });

  it("prints JSON with the findings and without the secret", async () => {
    const { ensure } = await startEnsure({});
    const made = await ensure(["--types", "esim.enabled", "--key-file", "hook.key", "--json"]);
    expect(made.code).toBe(0);
    expect(jsonLines(made)).toMatchObject([
      { url, active: true, created: true, findings: [], eventTypes: ["esim.enabled"] },
    ]);
    expect(made.stdout).not.toContain("whsec_");
    const again = await ensure(["--types", "esim.faulted", "--key-file", "hook.key", "--json"]);
    expect(again.code).toBe(3);
    expect(jsonLines(again)).toMatchObject([
      {
        created: false,
        findings: [{ code: "not_subscribed", about: ["esim.faulted"] }, { code: "not_wanted" }],
      },
    ]);
  });

  it("registers nothing without a place for the secret, without event types, and for a slash at the end of a known URL", async () => {
    const { ensure, api } = await startEnsure({});
    const homeless = await ensure(["--types", "esim.enabled"]);
    expect(homeless.code).toBe(2);
    expect(homeless.stderr).toContain(
      "The signing secret needs a place that the command can change, and that the receivers read. Add --key-file esim.key",
    );
    const typeless = await ensure(["--key-file", "hook.key"]);
    expect(typeless.code).toBe(2);
    expect(typeless.stderr).toContain(
      "the event types of the endpoint are not known. Name them with --types",
    );
    expect((await api.webhooks.list().page()).data).toEqual([]);
    const { webhookEndpointReference: reference } = await api.webhooks.create({
      url: `${url}/`,
      eventTypes: ["esim.enabled"],
    });
    const slashed = await ensure(["--types", "esim.enabled", "--key-file", "hook.key"]);
    expect(slashed.code).toBe(2);
    expect(slashed.stderr).toContain(
      `The client has no endpoint for ${url}, but ${reference} for ${url}/: only the slash at the end differs. Write the URL of that endpoint.`,
    );
  });

  it("says how a secret of another form is read, and goes on when it is told", async () => {
    const service = await startService({ switches: { secretFormat: "custom", replayShowsSecret: "off" } });
    const cwd = folder();
    const ensure = (...args: string[]) =>
      cli(["endpoint", "ensure", url, "--types", "esim.enabled", "--key-file", "k", ...args], {
        cwd,
        env: service.env,
      });
    const refused = await ensure();
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("Run it again with --secret-form: hex, base64 or utf8.");
    expect(await ensure("--secret-form", "hex")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Registered/),
    });
    expect((await service.api.webhooks.list().page()).data).toHaveLength(1);
    expect(JSON.stringify(await fileKeySource(join(cwd, "k")).load())).toContain("hex:");
  });

  it("needs to know how far back to reconcile before it replaces an endpoint, and changes nothing without", async () => {
    const { ensure, api } = await startEnsure();
    await ensure(["--types", "esim.faulted"]);
    const before = (await api.webhooks.list().page()).data;
    const refused = await ensure(["--replace"]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("(no_watermark)") });
    expect(refused.stderr).toContain("Pass --since, the time at which your receiver began to store events.");
    expect((await api.webhooks.list().page()).data).toEqual(before);
    expect((await ensure(["--since", "1h"])).stderr).toContain("--since is for --replace");
    expect((await ensure(["--accept-loss"])).stderr).toContain("--accept-loss is for --replace");
  });

  it("has nothing to replace when the endpoint is as the handlers need it", async () => {
    const { ensure } = await startEnsure();
    await ensure();
    expect(await ensure(["--replace"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Found the endpoint/),
    });
  });

  it("replaces an endpoint: what it still has goes into the inbox, it is deleted, and its key goes", async () => {
    const backend = await startBackend({ keyFile: true });
    const { api, cwd, env, reference } = backend;
    const [first] = (await api.webhooks.list().page()).data;
    const stored = await backend.emit(1);
    await backend.down();
    const coming = await backend.emit(2);
    const args = ["--types", "esim.installed,esim.enabled", "--replace", "--since", "1h"];
    const ran = await skippingWaits(() =>
      cli(["endpoint", "ensure", first?.url ?? "", ...args], { cwd, env }),
    );
    const [second, ...others] = (await api.webhooks.list().page()).data;
    const { webhookEndpointReference: replacing = "" } = second ?? {};
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        "While there are two endpoints, one event may come under two ids, and is handled twice then.",
      ),
      stdout: `Replaced the endpoint ${reference}, which was reconciled and deleted, by the endpoint ${replacing} for 2 event types. Its signing secret is in ${relative("", join(cwd, "esim.key"))}.\n`,
    });
    expect(ran.stderr).toMatch(/^The second endpoint is there\.$/m);
    expect(ran.stderr).not.toContain("ledger");
    expect(others).toEqual([]);
    expect((await backend.stored()).sort()).toEqual([...stored, ...coming].sort());
    const state = sqliteState({ path: join(cwd, ".esim-webhooks/events.db") });
    expect(await readWatermark(state, replacing)).toBeDefined(); // the next reconcile needs no --since
    await state.close?.();
    expect(await fileKeySource(join(cwd, "esim.key")).read()).toMatchObject({
      record: { keys: [{ endpoint: replacing }] },
    });
  });

  it("replaces an inactive endpoint, and ends with 3 and the time whose events no list has", async () => {
    const backend = await startBackend({ keyFile: true });
    const { api, sandbox, reference, cwd, env } = backend;
    const [{ url } = { url: "" }] = (await api.webhooks.list().page()).data;
    sandbox.setEndpointActive(reference, false);
    const types = ["--types", "esim.installed", "--replace", "--since", "1h"];
    const ran = await skippingWaits(() => cli(["endpoint", "ensure", url, ...types], { cwd, env }));
    expect(ran).toMatchObject({
      code: 3,
      stdout: expect.stringContaining(`Replaced the endpoint ${reference}`),
    });
    expect(ran.stdout).toMatch(
      /inactive: The service may not have sent events .* at most from .* to now, while the endpoint is inactive\. Ask support/,
    );
  });
});
