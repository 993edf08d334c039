import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { folder, jsonLines } from "../cli.ts";
import { type Service, startService } from "./service.ts";

const url = "https://shop.example/webhooks";
const create = ["endpoints", "create", url, "--types", "esim.faulted"];
const mode = (path: string) => statSync(path).mode & 0o777;

async function keysIn(file: string) {
  const stored = await fileKeySource(file).read();
  return stored?.record ?? { keys: [] };
}

/** The lines after the first one, which names the API. */
const afterApi = (stderr: string) => /^API: .* \(this machine\)\n(.*)$/s.exec(stderr)?.[1];

async function endpointsOf({ api }: Service) {
  return (await api.webhooks.list().page()).data;
}

describe("api endpoints create", () => {
  it("writes the signing secret into a new file for this user alone, and prints its fingerprint", async () => {
    const service = await startService();
    const cwd = folder();
    const { code, stdout, stderr } = await service.run([...create, "--key-file", "hook.key"], { cwd });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^API: .* \(this machine\)\n$/),
    });
    const file = join(cwd, "hook.key");
    expect(mode(file)).toBe(0o600);
    const [endpoint] = await endpointsOf(service);
    const { keys } = await keysIn(file);
    expect(keys).toEqual([
      { secret: expect.stringMatching(/^whsec_/), endpoint: endpoint?.webhookEndpointReference },
    ]);
    expect(endpoint).toMatchObject({ url, eventTypes: ["esim.faulted"] });
    expect(stdout).toContain(
      `Registered the endpoint ${endpoint?.webhookEndpointReference} for 1 event type.`,
    );
    expect(stdout).toMatch(/Its signing secret \(key:[0-9a-f]{8}\) is in hook\.key/);
    expect(stdout).not.toContain("whsec_");
  });

  it("prints JSON with the file, and without the secret", async () => {
    const service = await startService();
    const cwd = folder();
    const given = ["--description", "the shop", "--key-file", "hook.key", "--json"];
    const ran = await service.run([...create, ...given], { cwd });
    const [endpoint] = await endpointsOf(service);
    expect(jsonLines(ran)).toEqual([
      { ...endpoint, description: "the shop", key: expect.stringMatching(/^key:/), keyFile: "hook.key" },
    ]);
    expect(ran.stdout).not.toContain("whsec_");
  });

  it("prints the secret when it is asked for by name", async () => {
    const { run } = await startService();
    expect((await run([...create, "--print-secret"])).stdout).toMatch(/signing secret is whsec_\S{40,}/);
    const [shown] = jsonLines(await run([...create, "--print-secret", "--json"]));
    expect(shown).toMatchObject({ signingSecret: expect.stringMatching(/^whsec_/) });
  });

  it("makes nothing when the secret has no place, and says which places there are", async () => {
    const service = await startService();
    const { code, stdout, stderr } = await service.run(create);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(afterApi(stderr)).toBe(
      "Error (invalid_usage): The service shows an endpoint's signing secret once, and there is no place for it. Name a new file with --key-file, give the config a fileKeySource as its secret, or have it printed with --print-secret.\n",
    );
    expect(await endpointsOf(service)).toEqual([]);
    const both = await service.run([...create, "--key-file", "k", "--print-secret"]);
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("Remove one of them.") });
  });

  it("makes nothing when the file is there, and leaves it as it is", async () => {
    const service = await startService();
    const cwd = folder({ "hook.key": "mine" });
    const { code, stderr } = await service.run([...create, "--key-file", "hook.key"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(
      "Error (invalid_usage): hook.key already exists, and no key file is overwritten.",
    );
    expect(readFileSync(join(cwd, "hook.key"), "utf8")).toBe("mine");
    expect(await endpointsOf(service)).toEqual([]);
  });

  it("makes nothing when the file cannot be written", async () => {
    const service = await startService();
    const { code, stderr } = await service.run([...create, "--key-file", "no/folder/hook.key"]);
    expect(code).toBe(2);
    expect(stderr).toContain("no/folder/hook.key cannot be written, so nothing was registered.");
    expect(await endpointsOf(service)).toEqual([]);
  });

  it("leaves no file when the service refuses, and says why", async () => {
    const { run } = await startService();
    const cwd = folder();
    const call = ["endpoints", "create", url, "--types", "esim.fautled", "--key-file", "hook.key"];
    const { code, stderr } = await run(call, { cwd });
    expect(code).toBe(2);
    expect(afterApi(stderr)).toMatch(/^Error \(bad_request\): The service answered 400 .*The service says: /);
    expect(stderr).not.toContain("error.problemDetails");
    expect(existsSync(join(cwd, "hook.key"))).toBe(false);
  });

  it("says how to go on when the endpoint was registered and its answer lost", async () => {
    const service = await startService();
    const api = { maxAttempts: 1 };
    const cwd = folder({ "esim-webhooks.config.mjs": `export default { api: ${JSON.stringify(api)} };` });
    service.sandbox.faults.dropNextAnswer("POST /management/webhooks");
    const { code, stderr } = await service.run([...create, "--key-file", "hook.key"], { cwd });
    expect(code).toBe(1);
    expect(afterApi(stderr)).toMatch(/^Error \((?:unreachable|connection_lost)\): /);
    expect(stderr).toContain(
      "The endpoint may be registered, and its secret is lost: esim-webhooks api endpoints list shows it. Delete it then, and create it again.",
    );
    expect(existsSync(join(cwd, "hook.key"))).toBe(false);
    expect(await endpointsOf(service)).toHaveLength(1);
  });

  it("registers one endpoint when its first answer is lost, and has its secret", async () => {
    const service = await startService();
    const cwd = folder();
    service.sandbox.faults.dropNextAnswer("POST /management/webhooks");
    expect((await service.run([...create, "--key-file", "hook.key"], { cwd })).code).toBe(0);
    expect(await endpointsOf(service)).toHaveLength(1);
    expect((await keysIn(join(cwd, "hook.key"))).keys).toHaveLength(1);
  });

  it("subscribes to the types of a family, and to all that there are without --types", async () => {
    const service = await startService();
    const all = (await service.api.catalog.webhookEventTypes()).map(({ eventType }) => eventType);
    const family = ["--types", "esim.lifecycle.*,esim.faulted", "--print-secret", "--json"];
    const [some] = jsonLines(await service.run(["endpoints", "create", url, ...family]));
    expect(some?.["eventTypes"]).toEqual([
      ...all.filter((type) => type.startsWith("esim.lifecycle.")),
      "esim.faulted",
    ]);
    const [every] = jsonLines(await service.run(["endpoints", "create", url, "--print-secret", "--json"]));
    expect(every?.["eventTypes"]).toEqual(all);
    const none = await service.run(["endpoints", "create", url, "--types", "esm.*", "--print-secret"]);
    expect(none.code).toBe(2);
    expect(none.stderr).toContain("--types esm.* matches no event type of the service.");
  });

  it("is refused at the cap of endpoints, with the reason that the service gives", async () => {
    const { run, api } = await startService({ switches: { endpointCap: "3" } });
    for (let made = 0; made < 3; made += 1) await api.webhooks.create({ url, eventTypes: ["esim.faulted"] });
    const { code, stderr } = await run([...create, "--print-secret"]);
    expect(code).toBe(3);
    expect(afterApi(stderr)).toMatch(/^Error \(conflict\): The service answered 409 .*The service says: .*3/);
  });
});

describe("api endpoints create with the config's key file", () => {
  const config = `import { fileKeySource } from "@esim-webhooks/core/key-file";
export default { secret: fileKeySource(import.meta.dirname + "/keys/hook.json") };`;

  function configured(): string {
    const cwd = folder({ "esim-webhooks.config.mjs": config });
    mkdirSync(join(cwd, "keys"));
    return cwd;
  }

  it("makes the file when it is not there", async () => {
    const { run } = await startService();
    const cwd = configured();
    const file = join(cwd, "keys/hook.json");
    expect((await run(create, { cwd })).stdout).toContain(`is in ${file}`);
    expect((await keysIn(file)).keys).toHaveLength(1);
    expect(mode(file)).toBe(0o600);
  });

  it("does not use it while ESIM_WEBHOOK_SECRET takes precedence, and says so", async () => {
    const { run } = await startService();
    const { code, stderr } = await run(create, {
      cwd: configured(),
      env: { ESIM_WEBHOOK_SECRET: newSecret() },
    });
    expect(code).toBe(2);
    expect(stderr).toContain(
      "give the config a fileKeySource as its secret and unset ESIM_WEBHOOK_SECRET, or",
    );
  });

  it("adds the secret to the keys that are in it, and changes nothing else of it", async () => {
    const { run } = await startService();
    const cwd = configured();
    const file = join(cwd, "keys/hook.json");
    const first = newSecret();
    const before = {
      keys: [{ secret: first, notAfter: "2100-01-01T00:00:00Z" }],
      rotatingUntil: "2026-11-22T00:00:00Z",
    };
    writeFileSync(file, JSON.stringify(before), { mode: 0o640 });
    expect((await run(create, { cwd })).code).toBe(0);
    expect(await keysIn(file)).toEqual({
      ...before,
      keys: [...before.keys, { secret: expect.stringMatching(/^whsec_/), endpoint: expect.any(String) }],
    });
    expect(mode(file)).toBe(0o640);
    expect((await run(create, { cwd })).code).toBe(0);
  });

  it("registers nothing when the file that is there is no key file", async () => {
    const service = await startService();
    const cwd = configured();
    writeFileSync(join(cwd, "keys/hook.json"), "{", { mode: 0o600 });
    const { code, stderr } = await service.run(create, { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(`Error (invalid_secret): The key file ${join(cwd, "keys/hook.json")}`);
    expect(await endpointsOf(service)).toEqual([]);
  });

  it("says how to go on when the secret cannot be stored after all, and keeps the keys that are there", async () => {
    const service = await startService({ switches: { secretFormat: "custom" } });
    const cwd = configured();
    const secret = newSecret();
    writeFileSync(join(cwd, "keys/hook.json"), secret, { mode: 0o600 });
    const { code, stderr } = await service.run(create, { cwd });
    const [endpoint] = await endpointsOf(service);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `Error (secret_not_kept): The endpoint ${endpoint?.webhookEndpointReference} is registered, but its signing secret could not be written to ${join(cwd, "keys/hook.json")}, and no one has it.`,
    );
    expect(stderr).toContain(
      `Get another one with esim-webhooks rotate --endpoint ${endpoint?.webhookEndpointReference} (and --secret-form if it is not written as whsec_ and base64), or run esim-webhooks api endpoints delete ${endpoint?.webhookEndpointReference} and create it again.`,
    );
    expect(await keysIn(join(cwd, "keys/hook.json"))).toEqual({ keys: [secret] });
  });
});

describe("api endpoints delete", () => {
  it("needs --yes without a terminal, and ends the key in the config's key file", async () => {
    const config = `import { fileKeySource } from "@esim-webhooks/core/key-file";
export default { secret: fileKeySource(import.meta.dirname + "/hook.json") };`;
    const service = await startService();
    const { webhookEndpointReference: reference } = await service.api.webhooks.create({
      url,
      eventTypes: ["esim.faulted"],
    });
    const refused = await service.run(["endpoints", "delete", reference]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("there is no terminal to ask on. Add --yes.");
    expect(await endpointsOf(service)).toHaveLength(1);

    const cwd = folder({
      "esim-webhooks.config.mjs": config,
      "hook.json": JSON.stringify({ keys: [{ secret: newSecret(), endpoint: reference }] }),
    });
    const { code, stdout, stderr } = await service.run(["endpoints", "delete", reference, "--yes"], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Deleted the endpoint ${reference}: ${url}\n` });
    expect(stderr).toMatch(/^Its key in \S+hook\.json \(key:[0-9a-f]{8}\) ends in 2 minutes\.$/m);
    expect(await endpointsOf(service)).toEqual([]);
  });

  it("prints the deleted endpoint as JSON, also when only the answer was lost", async () => {
    const service = await startService();
    const made = await service.api.webhooks.create({ url, eventTypes: ["esim.faulted"] });
    const other = await service.api.webhooks.create({ url, eventTypes: ["esim.faulted"] });
    const remove = (reference: string) => service.run(["endpoints", "delete", reference, "--yes", "--json"]);
    expect(jsonLines(await remove(made.webhookEndpointReference))).toEqual([{ ...made }]);
    service.sandbox.faults.dropNextAnswer("DELETE /management/webhooks/{webhookEndpointReference}");
    const { webhookEndpointReference } = other;
    expect(jsonLines(await remove(webhookEndpointReference))).toEqual([{ webhookEndpointReference }]);
  });

  it("ends with 3 when there is no such endpoint", async () => {
    const { run } = await startService();
    const { code, stderr } = await run(["endpoints", "delete", "nothing", "--yes"]);
    expect(code).toBe(3);
    expect(stderr).toContain("Error (not_found): The service answered 404");
  });
});
