import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import type { SandboxOptions } from "@esim-webhooks/sandbox";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { rotateCall, rotatingFile } from "../../../endpoint/test/rotate/rotating.ts";
import { variablesOf } from "../api/service.ts";
import { begin, cli, cliProcess, folder, jsonLines } from "../cli.ts";
import { startBackend } from "./backend.ts";
import { skippingWaits } from "./skipping-waits-here.ts";

const config = `
  import { defineConfig } from "@esim-webhooks/cli";
  import { fileKeySource } from "@esim-webhooks/core/key-file";
  import { relative } from "node:path";
  import { fileURLToPath } from "node:url";
  const path = relative("", fileURLToPath(new URL("esim.key", import.meta.url)));
  export default defineConfig({ secret: fileKeySource(path) });
`;

/** Makes the first reconciliation: a rotation needs to know how far back to look. */
async function reconcileFirst(cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  expect(await cli(["reconcile", "--since", "1h"], { cwd, env })).toMatchObject({ code: 0 });
}

/** An endpoint and its receiver, and the command in the folder of their key file. */
async function startRotate(...options: [SandboxOptions?, (() => string)?]) {
  const cwd = folder({ "esim-webhooks.config.ts": config });
  const world = await rotatingFile(join(cwd, "esim.key"), ...options);
  onTestFinished(() => world[Symbol.asyncDispose]());
  const env = variablesOf(world.sandbox);
  const rotate = (...args: string[]) => skippingWaits(() => cli(["rotate", ...args], { cwd, env }));
  return { ...world, cwd, env, rotate };
}

const onlyApi = /^API: \S+ \(this machine\)\n$/;

describe("rotate", () => {
  it("says with --dry-run what it would do, and changes not a byte of the key file", async () => {
    const { cwd, env, keys, endpoint } = await startRotate();
    const rotate = (...args: string[]) => cliProcess(["rotate", ...args], { cwd, env }); // it shows a path of the config
    const file = join(cwd, "esim.key");
    const text = `${(await keys.read())?.record.keys[0]}\n`; // plain, which a rotation would make JSON
    writeFileSync(file, text);
    const { code, stdout, stderr } = await rotate("--dry-run");
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(onlyApi) });
    expect(stdout).toMatch(
      new RegExp(
        `^Would rotate the secret of the endpoint ${endpoint}, in esim\\.key\\.\nThe receivers are asked when the rotation begins\\.\nThe service would be asked for a new secret\\.\nKeys that would be replaced: key:[0-9a-f]{8}\\.\n$`,
      ),
    );
    expect((await rotate("--dry-run", "--no-check")).stdout).not.toContain("receivers");
    expect(jsonLines(await rotate("--dry-run", "--json"))).toMatchObject([{ endpoint, continues: null }]);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("says with --dry-run that a watermark is missing", async () => {
    const { cwd, env } = await startBackend({ keyFile: true });
    const dryRun = (...args: string[]) => cli(["rotate", "--dry-run", ...args], { cwd, env });
    const refused = await dryRun();
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("was never reconciled with this state store");
    expect(refused.stderr).toContain("Reconcile it once with esim-webhooks reconcile --since");
    expect((await dryRun("--no-reconcile")).code).toBe(0);
    await reconcileFirst(cwd, env);
    expect((await dryRun()).code).toBe(0);
  });

  it("takes the endpoint that the keys name, when the client has several", async () => {
    const { api, keys, rotate, endpoint } = await startRotate();
    const url = "https://shop.example/webhooks";
    const other = await api.webhooks.create({ url, eventTypes: ["esim.enabled"] });
    const dryRun = () => rotate("--dry-run");
    expect(await dryRun()).toMatchObject({ code: 2, stderr: expect.stringContaining("--endpoint") });
    const { record, version } = (await keys.read()) ?? {};
    const own = { secret: String(record?.keys[0]), endpoint };
    await keys.write({ keys: [own] }, version);
    expect((await dryRun()).stdout).toContain(`Would rotate the secret of the endpoint ${endpoint}`);
    const theirs = { secret: newSecret(), endpoint: other.webhookEndpointReference };
    await keys.write({ keys: [own, theirs] }, (await keys.read())?.version);
    expect((await dryRun()).code).toBe(2);
    const ended = { ...theirs, notAfter: "2026-01-01T00:00:00Z" };
    await keys.write({ keys: [ended, own] }, (await keys.read())?.version);
    expect((await dryRun()).stdout).toContain(`Would rotate the secret of the endpoint ${endpoint}`);
  });

  it("takes no other endpoint when the one that the keys name is gone", async () => {
    const { api, keys, rotate, endpoint, sandbox } = await startRotate();
    const { record, version } = (await keys.read()) ?? {};
    await keys.write({ keys: [{ secret: String(record?.keys[0]), endpoint }] }, version);
    const before = await keys.read();
    await api.webhooks.delete(endpoint);
    const url = "https://shop.example/webhooks";
    const other = await api.webhooks.create({ url, eventTypes: ["esim.enabled"] });
    expect(await rotate("--no-check")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: `API: ${sandbox.url} (this machine)\nError (endpoint_unknown): The keys are those of the endpoint ${endpoint}, which the client does not have. If you mean another one, name it with --endpoint. The client has ${other.webhookEndpointReference} (${url}).\n`,
    });
    expect(await keys.read()).toEqual(before);
  });

  it("ends with 3 when receivers do not read the key file, and says what to do; with --no-check it rotates all the same", async () => {
    const { cwd, keys, rotate } = await startRotate();
    const unread = ["--key-file", "unread.key", "--overlap", "1m"];
    copyFileSync(join(cwd, "esim.key"), join(cwd, "unread.key"));
    const refused = await rotate(...unread);
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr).toMatch(
      /^Error \(receivers_not_ready\): 5 of 5 deliveries with an unknown signature were answered 401: .* The secret was not replaced\. Have all receivers read this key store, not ESIM_WEBHOOK_SECRET .*--no-check/m,
    );
    const before = await keys.read();
    const { code, stdout } = await rotate("--no-check", ...unread);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Rotated the secret .* is in unread\.key\.$/m),
    });
    expect(await keys.read()).toEqual(before); // which the receivers still read
  });

  it("keeps a secret of another form, and takes it with --secret-form", async () => {
    const { rotate, keys, emit, handled } = await startRotate(
      { switches: { secretFormat: "custom" } },
      newSecret,
    );
    const once = ["--no-check", "--overlap", "1m"];
    const refused = await rotate(...once);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(
      /^Error \(invalid_secret\): The service's new secret cannot be read .* Rotate again with --secret-form before \S+: hex, base64 or utf8\. Receivers answer 503 until then\./m,
    );
    expect(await rotate(...once, "--secret-form", "hex")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Rotated the secret/),
    });
    expect(JSON.stringify(await keys.read())).toContain('"hex:');
    expect(handled).toEqual([await emit()]);
  });

  it("refuses without a watermark; then rotates, brings what was missed into the inbox, and prints no secret", async () => {
    const { keys, rotate, endpoint, cwd, env, handled, emit } = await startRotate();
    const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks", "events.db") });
    await inbox.ready();
    await inbox.close();
    const before = await keys.read();
    const refused = await rotate("--overlap", "1m");
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("esim-webhooks reconcile --since"),
    });
    expect(await keys.read()).toEqual(before);
    await reconcileFirst(cwd, env);
    const { code, stdout, stderr } = await rotate("--overlap", "1m");
    const [key] = (await keys.read())?.record.keys ?? [];
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Rotated the secret of the endpoint ${endpoint}. The new key (key:`),
    });
    expect(stdout).toMatch(/^Nothing was missed\. Reconciled with the embedded inbox in \.esim-webhooks\.$/m);
    expect(stderr).toMatch(
      /^Rotating the secret of the endpoint \S+\. The old key stays valid for another 1m 00s \(--overlap\), and the command waits for its end\.$/m,
    );
    expect(stderr).toContain("The new key is stored.");
    expect(stdout + stderr).not.toContain((key as { secret: string }).secret.slice(6, 20));
    expect(handled).toEqual([await emit()]);
  });

  it("continues after a failure, and says where to reconcile when there is no inbox", async () => {
    const { rotate, sandbox } = await startRotate();
    sandbox.faults.add({ kind: "error", call: rotateCall, status: 500, done: true, times: 3 });
    const failed = await rotate();
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("Rotate again soon");
    expect((await rotate("--dry-run")).stdout).toMatch(/^Would continue the rotation/);
    const [report] = jsonLines(await rotate("--json", "--overlap", "1m"));
    expect(report).toMatchObject({
      continued: "call",
      reconciled: null,
      newKeyUse: { accepted: 0, refused: 0 },
    });
  });

  it("ends the rotation of an endpoint that was deleted meanwhile, and says so", async () => {
    const backend = await startBackend({ keyFile: true });
    const { api, reference, sandbox, cwd, env } = backend;
    await backend.emit(1);
    await reconcileFirst(cwd, env);
    sandbox.faults.add({ kind: "error", call: rotateCall, status: 500, done: true, times: 3 });
    expect((await skippingWaits(() => cli(["rotate"], { cwd, env }))).code).toBe(1);
    await api.webhooks.delete(reference);
    const { code, stderr } = await skippingWaits(() => cli(["rotate"], { cwd, env }));
    expect(code).toBe(2);
    expect(stderr).toMatch(/Error \(endpoint_unknown\): /);
    expect(JSON.parse(readFileSync(join(cwd, "esim.key"), "utf8"))).not.toHaveProperty("change");
  });

  it("brings what was exhausted while it was under way into the inbox, and ends with 0", async () => {
    const backend = await startBackend({ keyFile: true });
    const { sandbox, cwd, env } = backend;
    await backend.emit(1);
    await reconcileFirst(cwd, env);
    sandbox.faults.add({ kind: "error", call: rotateCall, status: 500, done: true, times: 3 });
    expect((await skippingWaits(() => cli(["rotate"], { cwd, env }))).code).toBe(1); // nobody has the secret
    const exhausted = await backend.emit(2);
    await sandbox.advance("16h");
    expect(await backend.stored()).toHaveLength(1);

    const { code, stdout } = await skippingWaits(() => cli(["rotate"], { cwd, env }));
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^Recovered 2 missed events\. Reconciled with the embedded inbox in \.esim-webhooks\.$/m,
      ),
    });
    expect(await backend.stored()).toEqual(expect.arrayContaining(exhausted));
    expect(await backend.stored()).toHaveLength(3);
  });

  it("prints what the reconciliation shows to be looked into, and ends with 3", async () => {
    const backend = await startBackend({ keyFile: true });
    const { cwd, env } = backend;
    await reconcileFirst(cwd, env);
    const [lost] = await backend.emitAcknowledged(1);
    const { code, stdout } = await skippingWaits(() => cli(["rotate"], { cwd, env }));
    expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining("ALARM: 1 event was") });
    expect(stdout).toContain(lost);
  });

  it("names the command that finishes a change of another kind", async () => {
    const { keys, rotate } = await startRotate();
    const { record, version } = (await keys.read()) ?? {};
    const change = { kind: "replace", url: "https://shop.example/webhooks" };
    await keys.write({ keys: record?.keys ?? [], change }, version);
    const refused = await rotate();
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(
      "Error (change_under_way): A replacement of the endpoint at shop.example/webhooks has begun and has not ended. If it is not running now, run: esim-webhooks endpoint ensure https://shop.example/webhooks --replace",
    );
  });

  it("needs a place where keys can be changed, and an endpoint that exists", async () => {
    const { rotate, env } = await startRotate();
    const nowhere = await cli(["rotate"], { cwd: folder({}), env });
    expect(nowhere.code).toBe(2);
    expect(nowhere.stderr).toMatch(/--key-file.*stateKeySource, or on AWS secretsManagerKeys or ssmKeys/s);
    const unknown = await rotate("--endpoint", "none");
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('The client has no endpoint "none".');
    expect((await rotate("--overlap", "59s")).code).toBe(2);
  });

  it("ends with 130 when it is interrupted, and says that the next run continues", async () => {
    const { cwd, env, rotate, endpoint } = await startRotate();
    const running = begin(["rotate"], { cwd, env });
    await running.written(/The new key is stored\./);
    running.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("Stopping: finishing the step under way.");
    expect(stderr).toContain("Error (interrupted): Interrupted. Run it again: it continues.\n");
    expect((await rotate("--dry-run")).stdout).toMatch(/^Would continue the rotation/);
    const doctor = await cli(["doctor"], { cwd, env });
    expect(doctor.code).toBe(3);
    expect(doctor.stdout).toContain(
      `A rotation of the endpoint ${endpoint} has begun and has not ended. If it is not running now, run: esim-webhooks rotate --endpoint ${endpoint}`,
    );
  });
});
