import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { privatePostgres } from "../../../../test/servers/index.ts";
import { type cli, cliProcess, folder, jsonLines, start } from "../cli.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly warning?: true;
  readonly message: string;
  readonly code?: string;
}

async function examine(options: Parameters<typeof cli>[1]) {
  const ended = await cliProcess(["doctor", "--json"], options);
  const [report] = jsonLines(ended) as [{ ok: boolean; checks: Check[] }];
  return { ...ended, ...report, of: Object.fromEntries(report.checks.map((check) => [check.name, check])) };
}

describe("doctor", () => {
  it("warns, as serve does, where ESIM_WEBHOOK_SECRET hides the secret of the config, and says what to do", async () => {
    const cwd = folder({ "esim-webhooks.config.mjs": `export default { secret: "${newSecret()}" };` });
    const warning =
      "ESIM_WEBHOOK_SECRET takes precedence over the secret of the config, so new keys in a key source are not seen. Unset it to use the config's.";
    const hidden = await examine({ cwd });
    expect(hidden.code).toBe(0);
    expect(hidden.of["secret"]).toMatchObject({
      ok: true,
      warning: true,
      message: expect.stringMatching(/^key:[0-9a-f]{8}\. /),
    });
    expect(hidden.of["secret"]?.message).toContain(warning);
    const serving = start(["serve", "--port", "0"], { cwd });
    await serving.written(/^ESIM_WEBHOOK_SECRET takes precedence .*$/m);
    serving.child.kill("SIGTERM");
    expect((await serving.ended).stderr).toContain(warning);
    const unset = await examine({ cwd, env: { ESIM_WEBHOOK_SECRET: "" } });
    expect(unset.of["secret"]).toEqual({
      name: "secret",
      ok: true,
      message: expect.stringMatching(/^key:[0-9a-f]{8}$/),
    });
  });

  it("reports a Postgres that only reads, and one that does not sync to its disk", async () => {
    const server = await privatePostgres({ fsync: "off" });
    const url = new URL(server.url);
    const migrated = await cliProcess(["migrate"], { env: { DATABASE_URL: url.href } });
    expect(migrated.code).toBe(0);
    const unsynced = await examine({ env: { DATABASE_URL: url.href } });
    expect(unsynced.code).toBe(3);
    expect(unsynced.of["store"]?.message).toContain("not durable");
    expect(unsynced.of["not_durable"]).toMatchObject({
      ok: false,
      message: expect.stringContaining("fsync = off"),
    });
    url.searchParams.set("options", "-c default_transaction_read_only=on");
    const reading = await examine({ env: { DATABASE_URL: url.href } });
    await server.close();
    expect(reading.code).toBe(3);
    expect(reading.of["store"]).toMatchObject({
      ok: false,
      code: "read_only_store",
      message: expect.stringContaining("Connect to the primary"),
    });
  });

  it("says that other users can use the folder, as the commands do that use it", async () => {
    const cwd = folder();
    const data = join(cwd, "data");
    mkdirSync(data);
    chmodSync(data, 0o777);
    const args = ["--data-dir", data];
    const warning = `Other users can write to the folder ${data}, which has personal data. Run chmod 700 on it.`;
    expect((await cliProcess(["doctor", ...args], { cwd })).stdout).toContain(warning);
    expect((await cliProcess(["migrate", ...args], { cwd })).stderr).toContain(warning);
    chmodSync(data, 0o700);
    expect((await cliProcess(["migrate", ...args], { cwd })).stderr).not.toContain("Other users");
  });

  it.runIf(process.getuid?.() === 0)(
    "says that the folder belongs to another user, also to root",
    async () => {
      const cwd = folder();
      const data = join(cwd, "data");
      mkdirSync(data, { mode: 0o700 });
      chownSync(data, 65_534, 65_534);
      const args = ["--data-dir", data];
      const warning = `The folder ${data}, which has personal data, belongs to another user (uid 65534), who can`;
      expect((await cliProcess(["doctor", ...args], { cwd })).stdout).toContain(warning);
      expect((await cliProcess(["migrate", ...args], { cwd })).stderr).toContain(warning);
    },
  );

  it("checks an embedded inbox beside the process that serves it, and says whether it is durable", async () => {
    const cwd = folder();
    const serving = start(["serve", "--port", "0"], { cwd });
    await serving.written(/Listening/);
    const { code, of } = await examine({ cwd });
    expect(code).toBe(0);
    expect(of["store"]?.message).toBe("the embedded inbox in .esim-webhooks; durable");
    serving.child.kill("SIGTERM");
    await serving.ended;
    writeFileSync(join(cwd, ".esim-webhooks/events.db"), "no database".repeat(100));
    const damaged = await examine({ cwd });
    expect(damaged).toMatchObject({ code: 3, of: { store: { ok: false, code: "database_corrupt" } } });
    const config = `import { sqliteInbox } from "@esim-webhooks/store-sqlite";
      export default { target: sqliteInbox({ path: import.meta.dirname + "/fast/events.db", durability: "normal" }) };`;
    const fast = await examine({ cwd: folder({ "esim-webhooks.config.ts": config }) });
    expect(fast.of["folder"]?.message).toMatch(/\/fast; [\d.]+ \w+ free$/);
    expect(fast.of["store"]?.message).toMatch(
      /not durable: .* and reconcile refuses it\. Durable: SQLite with durability "full"/,
    );
  });
});
