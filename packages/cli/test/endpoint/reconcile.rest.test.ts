import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startPostgres } from "../../../../test/servers/index.ts";
import { begin, cli, folder, jsonLines, start } from "../cli.ts";
import { type Backend, startBackend } from "./backend.ts";

const reconcile = ({ cwd, env }: Backend, ...args: string[]) => cli(["reconcile", ...args], { cwd, env });

/** A backend that missed these events: the service has given the first up, and was told that it has the second. */
async function startWithMissed() {
  const backend = await startBackend();
  const stored = await backend.emit(1);
  const lost = await backend.emitAcknowledged(1);
  await backend.down();
  const givenUp = await backend.emit(2);
  await backend.sandbox.advance("16h");
  const coming = await backend.emit(1);
  return { backend, stored, lost, givenUp, coming };
}

describe("reconcile", () => {
  it("says the first time that it needs --since, and why", async () => {
    const backend = await startBackend();
    const { code, stdout, stderr } = await reconcile(backend);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^Error \(no_watermark\): The endpoint "\w+" was never reconciled .* Pass --since, the time/m,
    );
  });

  it("recovers what is missing and ends with 3, with an alarm for what was lost; then finds nothing and ends with 0", async () => {
    const { backend, stored, lost, givenUp } = await startWithMissed();
    const { code, stdout, stderr } = await reconcile(backend, "--since", "1h");
    expect(code).toBe(3);
    expect(stdout).toMatch(/^stored +3 +recovered: 2 not delivered, 1 acknowledged and lost$/m);
    expect(stdout).toMatch(/^duplicate +1 /m);
    expect(stdout).toMatch(/^coming +1 +the service sends them again; --include-coming/m);
    expect(stdout).toMatch(/^listed +5 /m);
    expect((await backend.stored()).sort()).toEqual([...stored, ...lost, ...givenUp].sort());
    expect(stdout).toContain("ALARM: 1 event was acknowledged and lost");
    expect(stdout).toContain(`  ${lost[0]}\n`);
    expect(stdout).toContain("Look into what can lose them again: a database that was dropped");
    expect(stderr).toMatch(/ ✘ .*acknowledged and lost/);
    expect(stderr).not.toContain('"level"');
    const again = await reconcile(backend);
    expect(again).toMatchObject({ code: 0, stderr: `API: ${backend.sandbox.url} (this machine)\n` });
    expect(again.stdout).toMatch(/^stored +0$/m);
  });

  it("recovers what is coming with --include-coming, and prints the report as JSON, whose ledger balances", async () => {
    const { backend, lost, coming } = await startWithMissed();
    const ran = await reconcile(backend, "--since", "1h", "--include-coming", "--json");
    const [report = {}] = jsonLines(ran);
    expect(report).toMatchObject({
      endpoint: backend.reference,
      ledger: { listed: 5, coming: 0, stored: 4, duplicate: 1, unsettled: 0 },
      recovered: { missed: 3, acknowledgedAndLost: 1 },
      ids: { acknowledgedAndLost: lost },
    });
    const { listed, ...others } = report["ledger"] as Record<string, number>;
    expect(Object.values(others).reduce((sum, value) => sum + value, 0)).toBe(listed);
    expect(await backend.stored()).toEqual(expect.arrayContaining(coming));
  });

  it("changes nothing in a dry run, in which it creates no inbox either", async () => {
    const { backend } = await startWithMissed();
    const args = ["--since", "1h", "--dry-run"];
    const { code, stdout } = await reconcile(backend, ...args);
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /^stored +4 +would be recovered unless they are there: 2 not delivered, 2 delivered$/m,
    );
    expect(await backend.stored()).toHaveLength(1);
    expect((await reconcile(backend)).code).toBe(2); // no mark was left
    await reconcile(backend, ...args, "--data-dir", "elsewhere");
    expect(existsSync(join(backend.cwd, "elsewhere"))).toBe(false);
  });

  it("refuses a dry run that goes on for ever", async () => {
    const backend = await startBackend();
    const { code, stderr } = await reconcile(backend, "--every", "5m", "--dry-run");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "Error (invalid_usage): --every and --dry-run contradict each other. Remove one of them.\n",
    });
  });

  it("asks which endpoint when there are several, and takes --endpoint", async () => {
    const backend = await startBackend();
    const { webhookEndpointReference } = await backend.api.webhooks.create({
      url: "https://other.example/webhooks",
      eventTypes: ["esim.installed"],
    });
    const unnamed = await reconcile(backend, "--since", "1h");
    expect(unnamed.code).toBe(2);
    expect(unnamed.stderr).toContain(`${webhookEndpointReference} (https://other.example/webhooks)`);
    const named = await reconcile(backend, "--since", "1h", "--endpoint", webhookEndpointReference);
    expect(named).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^The service lists no deliveries of this endpoint\.\n\nNo earlier pass has/,
      ),
    });
  });

  it("names the config that has a target of its own and no state", async () => {
    const backend = await startBackend();
    writeFileSync(
      join(backend.cwd, "esim-webhooks.config.mjs"),
      `import { fileURLToPath } from "node:url";
       import { sqliteInbox } from "@esim-webhooks/store-sqlite";
       export default { target: sqliteInbox({ path: fileURLToPath(new URL("mine.db", import.meta.url)) }) };`,
    );
    const { code, stderr } = await reconcile(backend, "--since", "1h");
    expect(code).toBe(2);
    expect(stderr).toMatch(/Error \(invalid_config\): \S+config\.mjs has its own target but no state/);
  });

  it('names the option that makes an SQLite inbox forget: durability "normal"', async () => {
    const backend = await startBackend();
    writeFileSync(
      join(backend.cwd, "esim-webhooks.config.mjs"),
      `import { fileURLToPath } from "node:url";
       import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
       const beside = (name) => fileURLToPath(new URL(name, import.meta.url));
       const target = sqliteInbox({ path: beside("mine.db"), durability: "normal" });
       export default { target, state: sqliteState({ path: beside("state.db") }) };`,
    );
    const { code, stderr } = await reconcile(backend, "--since", "1h");
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /Error \(durable_store_required\): \S+config\.mjs: The inbox is not durable.* Pass an inbox on SQLite with durability "full"/,
    );
  });

  it("goes on with --every while the API fails, prints what a pass found, and ends with 0 at SIGTERM", async () => {
    const backend = await startBackend();
    const { sandbox, cwd, env } = backend;
    const running = begin(["reconcile", "--every", "1s", "--since", "1h", "--json"], { cwd, env });
    await running.written(/Reconciling the endpoint/);
    const [first] = await backend.emitAcknowledged(1);
    await running.written(/"acknowledgedAndLost":1/);
    sandbox.faults.add({
      kind: "error",
      status: 404,
      call: "GET /management/webhooks/{webhookEndpointReference}/deliveries",
    });
    await running.written(/Reconciling failed\. It is retried at the next interval\./);
    const [second] = await backend.emitAcknowledged(1);
    await expect.poll(() => backend.stored()).toContain(second);
    running.kill("SIGTERM");
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(jsonLines(ended)).toMatchObject([
      { outcome: "complete", recovered: { acknowledgedAndLost: 1 } },
      { outcome: "complete", recovered: { acknowledgedAndLost: 1 } },
    ]);
    expect(await backend.stored()).toContain(first);
  });

  it("waits with --every for an API that is away at the start, and ends when its endpoint was deleted", async () => {
    const { cwd, env, sandbox, api, reference } = await startBackend();
    const elsewhere = { ...env, ESIM_API_URL: "http://127.0.0.1:9/api/v3" };
    const waiting = start(["reconcile", "--every", "1d", "--since", "1h"], { cwd: folder(), env: elsewhere });
    sandbox.faults.add({ kind: "error", status: 503, call: "GET /management/webhooks", times: 8 });
    const running = begin(["reconcile", "--every", "1s", "--since", "1h"], { cwd, env });
    await running.written(/The API is asked again until it answers\./);
    await running.written(/Reconciling the endpoint/);
    await api.webhooks.delete(reference);
    await waiting.written(/The API is asked again until it answers\./);
    waiting.child.kill("SIGTERM");
    expect((await waiting.ended).code).toBeNull();
    expect(waiting.child.signalCode).toBe("SIGTERM"); // nothing has begun that would have to be finished
    const { code, stderr } = await running.ended;
    expect(code).toBe(2);
    expect(stderr).toContain(
      `Error (endpoint_unknown): The endpoint ${reference} no longer exists. Start the command again, for another one. The client has none.`,
    );
  });

  it("goes on with --every when the database is away, at its start and later, and keeps what it had come to", async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.close());
    const backend = await startBackend({ database: postgres.url });
    const { cwd, env } = backend;
    await postgres.kill();
    const running = begin(["reconcile", "--every", "1s", "--since", "1h"], { cwd, env });
    await running.written(/Error \(store_unavailable\): Postgres at .* It is tried again until it answers\./);
    await postgres.start();
    await running.written(/Reconciling the endpoint/);
    const [first] = await backend.emitAcknowledged(1);
    await running.written(/ALARM {2}1 event recovered \(1 acknowledged and lost\)/);
    await postgres.kill();
    await running.written(/Reconciling failed\. It is retried at the next interval\./);
    await postgres.start();
    const [second] = await backend.emitAcknowledged(1);
    await expect.poll(() => backend.stored().catch(() => [])).toContain(second);
    running.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
    expect(await backend.stored()).toContain(first);
  });
});
