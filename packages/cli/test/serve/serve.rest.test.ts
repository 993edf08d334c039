import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { cli, cliProcess, folder, jsonLines, type Running, secret, start, startInTerminal } from "../cli.ts";
import { storeAt } from "../stored.ts";

async function urlOf(running: Running): Promise<string> {
  const [, url = ""] = await running.written(/Listening at \S*?(http:\S+\/[\w/]+)/);
  return url;
}

function event(id: string) {
  const timestamp = "2026-11-20T12:00:00Z"; // an event that comes again has the same body
  return signedRequest({ id, type: "esim.faulted", timestamp, data: sampleData("esim.faulted") }, { secret });
}

const handlers = `"esim.faulted": (event, { logger }) => logger.info({ reason: event.data.reason, order: { number: 7n } }, "handled")`;
const quick = `store: memoryStore()`;
const withMemory = `import { memoryStore } from "@esim-webhooks/core";
import { defineConfig } from "@esim-webhooks/cli";
export default defineConfig({ ${quick}, handlers: { ${handlers} }, path: "/in", port: 0 });`;

describe("serve", () => {
  it("stores into an embedded inbox that only its owner can read, on any free port, when only a secret is set", async () => {
    const cwd = folder();
    const running = start(["serve", "--port", "0"], { cwd });
    const url = await urlOf(running);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*\/webhooks$/);
    const modeOf = (path: string) => statSync(join(cwd, path)).mode & 0o777;
    expect([modeOf(".esim-webhooks"), modeOf(".esim-webhooks/events.db")]).toEqual([0o700, 0o600]);
    expect(readFileSync(join(cwd, ".esim-webhooks/.gitignore"), "utf8")).toBe("*\n");
    const delivery = event("msg_1");
    expect((await fetch(url, delivery)).status).toBe(202);
    expect((await fetch(url, delivery)).status).toBe(202);
    running.child.kill("SIGTERM");
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain("Events are stored in the embedded inbox in .esim-webhooks");
    expect(jsonLines(ended)).toMatchObject([
      { level: "info", id: "msg_1", type: "esim.faulted", outcome: "stored" },
      { level: "info", id: "msg_1", type: "esim.faulted", outcome: "already_stored" },
    ]);
    expect(ended.stdout).not.toContain(sampleData("esim.faulted").iccid);
  });

  it("accepts deliveries while it drains, and closes the connection of each", async () => {
    const running = start(["serve", "--port", "0", "--drain", "1h"], { cwd: folder() });
    const url = await urlOf(running);
    expect((await fetch(url, event("msg_1"))).headers.get("connection")).toBe("keep-alive");
    running.child.kill("SIGTERM");
    await running.written(/Stopping/);
    const { status, headers } = await fetch(url, event("msg_2"));
    expect([status, headers.get("connection")]).toEqual([202, "close"]);
    running.child.kill("SIGKILL");
    await running.ended;
  });

  it("gives its receiver the options of the config, and its log says which one turned a delivery away", async () => {
    const config =
      "export default { receiver: { toleranceSeconds: { past: 7200, future: 60 }, maxBodyBytes: 2000 }, port: 0 };";
    const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.ts": config }) });
    const url = await urlOf(running);
    const data = sampleData("esim.faulted");
    const delivery = (id: string, more: object, secondsAgo: number) =>
      signedRequest(
        { id, type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data: { ...data, ...more } },
        { secret, at: new Date(Date.now() - secondsAgo * 1000) },
      );
    expect((await fetch(url, delivery("msg_1", {}, 3600))).status).toBe(202);
    expect((await fetch(url, delivery("msg_2", {}, 9000))).status).toBe(503);
    expect((await fetch(url, delivery("msg_3", { note: "x".repeat(2000) }, 0))).status).toBe(503);
    running.child.kill("SIGTERM");
    const reasons = Object.fromEntries(jsonLines(await running.ended).map(({ id, reason }) => [id, reason]));
    expect(reasons).toMatchObject({
      msg_2: expect.stringMatching(/ and receiver\.toleranceSeconds is 7200$/),
      msg_3: expect.stringMatching(/^receiver\.maxBodyBytes is 2000, .*raise the option/),
    });
  });

  it("finds the endpoint of a delivery by its path, with the function of the config", async () => {
    const config = `import { memoryStore } from "@esim-webhooks/core";
      const secrets = { "/acme": "${secret}", "/globex": "${newSecret()}" };
      export default { port: 0, path: "/in", ${quick}, handlers: { ${handlers} },
        endpoints: async (path) => secrets[path] ? { source: path.slice(1), secret: secrets[path] } : null };`;
    const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.ts": config }) });
    const url = await urlOf(running);
    const statusAt = async (path: string) => (await fetch(`${url}${path}`, event("msg_1"))).status;
    expect(await statusAt("/acme?a=b")).toBe(200);
    expect(await statusAt("/globex")).toBe(401);
    expect(await statusAt("/other")).toBe(404);
    expect(await statusAt("")).toBe(404);
    running.child.kill("SIGTERM");
    expect(jsonLines(await running.ended)).toMatchObject([
      { msg: "handled" },
      { source: "acme", outcome: "processed" },
      { source: "globex", outcome: "no_matching_key" },
      { outcome: "unknown_endpoint" },
    ]);
  });

  it.each(["secret: 'x'", "source: 'a'"])("refuses endpoints together with %s", async (option) => {
    const config = `export default { endpoints: () => null, ${option} };`;
    const { code, stderr } = await cli(["serve"], { cwd: folder({ "esim-webhooks.config.ts": config }) });
    expect(code).toBe(2);
    expect(stderr).toMatch(/has both endpoints and a s\w+: each endpoint has its own\. Remove the/);
  });

  it("refuses a tolerance that the store of the config cannot remember, and names the file", async () => {
    const config = `import { memoryStore } from "@esim-webhooks/core";
      export default { receiver: { toleranceSeconds: 600 }, store: memoryStore(), handlers: { "*": () => {} }, port: 0 };`;
    const { code, stderr } = await cli(["serve"], { cwd: folder({ "esim-webhooks.config.ts": config }) });
    expect(code).toBe(2);
    expect(stderr).toMatch(/config\.ts: "toleranceSeconds" is more than 300, and no durable store/);
  });

  it("runs the handlers of a TypeScript config as events arrive, and prints what they log", async () => {
    const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.ts": withMemory }) });
    const url = await urlOf(running);
    expect(url).toMatch(/\/in$/);
    expect((await fetch(url, event("msg_1"))).status).toBe(200);
    expect((await fetch(url.replace("/in", "/webhooks"), event("msg_2"))).status).toBe(404);
    expect((await fetch(`${url}/?a=b`, event("msg_1"))).status).toBe(200);
    running.child.kill("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(jsonLines(ended)).toMatchObject([
      { msg: "handled", id: "msg_1", reason: "download_order_expired" },
      { outcome: "processed", id: "msg_1" },
      { outcome: "no_such_path", level: "warn" },
      { outcome: "duplicate", id: "msg_1" },
    ]);
  });

  it.each(["handlers", "inbox"])(
    "masks personal data in the error of a handler when the target is %s",
    async (way) => {
      const target =
        way === "inbox" ? "target: sqliteInbox({ path: 'data/events.db' })," : "store: memoryStore(),";
      const config = `import { memoryStore } from "@esim-webhooks/core";
      import { sqliteInbox } from "@esim-webhooks/store-sqlite";
      export default { port: 0, ${target} handlers: { "*": () => {
        throw new Error("no SIM 8932042000001234567, LPA:1$smdp.example.com$CODE");
      } } };`;
      const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.ts": config }) });
      const { status } = await fetch(await urlOf(running), event("msg_1"));
      expect(status).toBe(way === "inbox" ? 202 : 500);
      await running.written(/no SIM/);
      running.child.kill("SIGTERM");
      const { stdout, stderr } = await running.ended;
      expect(stdout).toContain("no SIM •••, •••");
      expect(stdout + stderr).not.toMatch(/8932042|CODE/);
    },
  );

  it("masks personal data in an unhandled rejection of a handler, and ends with 1", async () => {
    const error = 'new Error("no SIM 8932042000001234567")';
    const config = `export default { port: 0, handlers: { "*": () => void Promise.reject(${error}) } };`;
    const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.mjs": config }) });
    await fetch(await urlOf(running), event("msg_1")).catch(() => {});
    const { code, stderr } = await running.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error \(unexpected\): no SIM •••\. Set ESIM_WEBHOOKS_DEBUG=1 .+\n$/m);
    expect(stderr).not.toContain("8932042");
  });

  it("remembers done ids in the Postgres at DATABASE_URL, across a restart", async () => {
    const cwd = folder({
      "esim-webhooks.config.mjs": `export default { source: "restarted", handlers: { ${handlers} } };`,
    });
    const id = `msg_${Date.now()}`;
    const outcomes: string[] = [];
    for (const _ of [1, 2]) {
      const running = start(["serve", "--port", "0"], { cwd, env: { DATABASE_URL: postgresUrl } });
      const answer = await fetch(await urlOf(running), event(id));
      outcomes.push(((await answer.json()) as { outcome: string }).outcome);
      running.child.kill("SIGTERM");
      await running.ended;
    }
    expect(outcomes).toEqual(["processed", "duplicate"]);
  });

  it("processes the events of its target in the same process when there are handlers, and says so", async () => {
    const config = `import { sqliteInbox } from "@esim-webhooks/store-sqlite";
      export default { target: sqliteInbox({ path: "events.db" }), handlers: { ${handlers} } };`;
    const running = start(["serve", "--port", "0"], {
      cwd: folder({ "esim-webhooks.config.js": config, "package.json": '{"type":"module"}' }),
    });
    expect((await fetch(await urlOf(running), event("msg_1"))).status).toBe(202);
    await running.written(/"outcome":"done"/);
    running.child.kill("SIGTERM");
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(
      /The handlers in \S+ process them here; for more workers, run: esim-webhooks work/,
    );
    expect(jsonLines(ended)).toContainEqual(
      expect.objectContaining({ id: "msg_1", type: "esim.faulted", outcome: "done", attempt: 1 }),
    );
  });

  it("prints one line for an event that it handles as it arrives, also with a worker for stored events", async () => {
    const config = 'export default { handlers: { "*": () => {} } };';
    const running = start(["serve", "--port", "0"], { cwd: folder({ "esim-webhooks.config.mjs": config }) });
    const url = await urlOf(running);
    for (const id of ["msg_1", "msg_2"]) expect((await fetch(url, event(id))).status).toBe(200);
    running.child.kill("SIGTERM");
    expect(jsonLines(await running.ended).map(({ id, outcome }) => [id, outcome])).toEqual([
      ["msg_1", "processed"],
      ["msg_2", "processed"],
    ]);
  });

  it("processes events that were stored in the default inbox before there were handlers", async () => {
    const cwd = folder();
    const before = start(["serve", "--port", "0"], { cwd });
    expect((await fetch(await urlOf(before), event("msg_before"))).status).toBe(202);
    before.child.kill("SIGTERM");
    await before.ended;
    writeFileSync(join(cwd, "esim-webhooks.config.mjs"), `export default { handlers: { ${handlers} } };`);
    const after = start(["serve", "--port", "0"], { cwd });
    const url = await urlOf(after);
    await after.written(/"id":"msg_before".*"outcome":"done"/);
    expect(await (await fetch(url, event("msg_before"))).json()).toEqual({ outcome: "duplicate" });
    expect(await (await fetch(url, event("msg_after"))).json()).toEqual({ outcome: "processed" });
    after.child.kill("SIGTERM");
    expect((await after.ended).stderr).toContain(
      "done ids are kept in the embedded inbox in .esim-webhooks. Events that are stored there are processed too.\n" +
        "1 event waits in the embedded inbox in .esim-webhooks.\n",
    );
  });

  it("says at its start what waits in an inbox that its config leaves behind, and what processes it", async () => {
    const cwd = folder({ "esim-webhooks.config.ts": withMemory });
    await storeAt(cwd, [entry("msg_1", { type: "esim.faulted" }), entry("msg_2", { type: "esim.faulted" })]);
    const serving = start(["serve"], { cwd });
    await serving.written(
      /^2 events wait in the embedded inbox in \.esim-webhooks\. serve does not process them with this config: run esim-webhooks work\.$/m,
    );
    serving.child.kill("SIGTERM");
    expect((await serving.ended).code).toBe(0);
    const working = start(["work"], { cwd });
    await working.written(/^2 events wait in the embedded inbox in \.esim-webhooks\.$/m);
    await working.written(/"id":"msg_2".*"outcome":"done"/);
    working.child.kill("SIGTERM");
    expect((await working.ended).code).toBe(0);
  });

  it("says at its start what waits in the Postgres at DATABASE_URL, which its config leaves behind, as doctor does", async () => {
    const cwd = folder({ "esim-webhooks.config.ts": withMemory });
    const client = new pg.Client({ connectionString: postgresUrl });
    await client.connect();
    const url = new URL(postgresUrl);
    url.pathname = `/left_${Date.now()}`;
    await client.query(`create database ${url.pathname.slice(1)}`);
    const env = { DATABASE_URL: url.href };
    expect((await cli(["doctor"], { cwd, env })).stdout).not.toContain("waiting");
    const inbox = postgresInbox({ url: url.href });
    await inbox.migrate();
    await inbox.put([entry("msg_1", { type: "esim.faulted" })]);
    await inbox.close();
    const serving = start(["serve"], { cwd, env });
    await serving.written(
      /^1 event waits in Postgres at \S+\. serve does not process them with this config: run esim-webhooks work\.$/m,
    );
    serving.child.kill("SIGTERM");
    expect((await serving.ended).code).toBe(0);
    expect((await cli(["doctor"], { cwd, env })).stdout).toContain("1 event waits");
    await client.query(`drop database ${url.pathname.slice(1)} with (force)`);
    await client.end();
  });

  it("does not look for an inbox where DATABASE_URL is not of Postgres and its config has a store", async () => {
    const cwd = folder({ "esim-webhooks.config.ts": withMemory });
    const serving = start(["serve"], { cwd, env: { DATABASE_URL: "mysql://127.0.0.1:1/shop" } });
    await urlOf(serving);
    serving.child.kill("SIGTERM");
    expect((await serving.ended).code).toBe(0);
  });

  it("says at its start that a worker or a crashed one still has events", async () => {
    const cwd = folder();
    await storeAt(cwd, [entry("msg_1", { type: "esim.faulted" }), entry("msg_2", { type: "esim.faulted" })]);
    const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
    await inbox.take({ limit: 1, leaseMs: 600_000 });
    const serving = start(["serve", "--port", "0"], { cwd });
    await serving.written(
      /^2 events wait in the embedded inbox in \.esim-webhooks, 1 of them with a worker, or with one that has crashed\.$/m,
    );
    serving.child.kill("SIGTERM");
    await serving.ended;
    await inbox.close();
  });

  it("shows where the handler of a delivery crashed, why and after how long, masked", async () => {
    const config = `function order(iccid) { throw new Error("no order for " + iccid, { cause: new Error("the shop is closed") }); }
export default { port: 0, handlers: { "*": () => order("8932042000001234567") } };`;
    const cwd = folder({ "esim-webhooks.config.mjs": config });
    const running = start(["serve"], { cwd });
    expect((await fetch(await urlOf(running), event("msg_1"))).status).toBe(500);
    running.child.kill("SIGTERM");
    const ended = await running.ended;
    const line = jsonLines(ended).find(({ outcome }) => outcome === "failed");
    expect(line).toMatchObject({
      id: "msg_1",
      durationMs: expect.any(Number),
      err: {
        message: "no order for •••",
        stack: expect.stringMatching(/^at order \(file:\/\/.*esim-webhooks\.config\.mjs:1:\d+\)/),
        cause: { message: "the shop is closed" },
      },
    });
    expect(ended.stdout).not.toContain("8932042");
  });

  it("prints text on a terminal, and JSON there with --json", async () => {
    const cwd = folder({ "esim-webhooks.config.ts": withMemory });
    const pretty = startInTerminal(["serve"], { cwd });
    expect((await fetch(await urlOf(pretty), event("msg_1"))).status).toBe(200);
    await pretty.written(/handled .*order \{"number":"7"\}/);
    const [line] = await pretty.written(/.*processed.*msg_1.*/);
    expect(line).toMatch(/\d\d:\d\d:\d\d.*✔ processed .*esim\.faulted {2}msg_1/);
    expect(line).toContain("\u001b[32m");
    pretty.child.stdin?.write("\u0003"); // Ctrl-C
    expect((await pretty.ended).code).toBe(0);
    const json = startInTerminal(["serve", "--json"], { cwd });
    expect((await fetch(await urlOf(json), event("msg_1"))).status).toBe(200);
    await json.written(/^\{"time".*"outcome":"processed"/m);
    json.child.stdin?.write("\u0003");
    await json.ended;
  });

  it("answers a delivery that takes longer than a second after SIGTERM", async () => {
    const config = `import { memoryStore } from "@esim-webhooks/core";
      export default { port: 0, store: memoryStore(), handlers: { "esim.faulted": async (event, { logger }) => {
        logger.info({}, "begun");
        await new Promise((resolve) => process.once("SIGTERM", () => setTimeout(resolve, 1500)));
      } } };`;
    const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.mjs": config }) });
    const answer = fetch(await urlOf(running), event("msg_1")).then(({ status }) => status, String);
    await running.written(/begun/);
    running.child.kill("SIGTERM");
    expect(await answer).toBe(200);
    expect((await running.ended).code).toBe(0);
  });

  it("finishes what it has accepted after SIGTERM, and ends at once after a second signal", async () => {
    const config = (handler: string) => `import { memoryStore } from "@esim-webhooks/core";
      export default { port: 0, store: memoryStore(), handlers: { "esim.faulted": ${handler} } };`;
    const slow = `async (event, { logger }) => {
      logger.info({}, "begun");
      await new Promise((resolve) => process.once("SIGTERM", () => setTimeout(resolve, 100)));
    }`;
    const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.mjs": config(slow) }) });
    const answer = fetch(await urlOf(running), event("msg_1"));
    await running.written(/begun/);
    running.child.kill("SIGTERM");
    expect((await answer).status).toBe(200);
    expect((await running.ended).code).toBe(0);

    const stuck = start(["serve"], {
      cwd: folder({
        "esim-webhooks.config.mjs": config(
          `(event, { logger }) => { logger.info({}, "begun"); return new Promise(() => {}); }`,
        ),
      }),
    });
    fetch(await urlOf(stuck), event("msg_1")).catch(() => {});
    await stuck.written(/begun/);
    stuck.child.kill("SIGTERM");
    await stuck.written(/Stopping/);
    const again = setInterval(() => stuck.child.kill("SIGTERM"), 100); // signals right after the first one count as one
    expect((await stuck.ended).code).toBe(130);
    clearInterval(again);
  });

  it("gives flags precedence over the environment, and the environment over the config", async () => {
    const cwd = folder({
      "esim-webhooks.config.ts": withMemory.replace("port: 0", 'port: 1, secret: "whsec_wrong"'),
    });
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as AddressInfo;
    const busy = await cli(["serve"], { cwd, env: { PORT: String(port) } });
    expect(busy.code).toBe(1);
    expect(busy.stderr).toContain(
      `Error (cannot_listen): Cannot listen on 127.0.0.1, port ${port}. Choose a free port with --port`,
    );
    taken.close();
    const running = start(["serve", "--port", "0", "--path", "/flagged"], {
      cwd,
      env: { PORT: String(port) },
    });
    expect(await urlOf(running)).toMatch(/\/flagged$/);
    running.child.kill("SIGTERM");
    await running.ended;
  });

  it.each([
    [
      "is misspelt",
      "export default { handlrs: {} };",
      'there is no option "handlrs". Did you mean "handlers"?',
    ],
    ["does not parse", "export default { handlers: { , } };", "cannot be loaded: "],
    [
      "imports a package that is not installed",
      'import "nowhere"; export default {};',
      "Install what it imports",
    ],
    [
      "loads a file that does not exist",
      'process.loadEnvFile("missing.env"); export default {};',
      "Create the file that it reads, or correct its name.",
    ],
    [
      "exports nothing",
      "export const config = {};",
      "has no default export. Write: export default defineConfig",
    ],
    [
      "has a store with a target",
      "export default { target: { put() {} }, store: { claim() {}, extend() {}, complete() {}, release() {} } };",
      "has both a store and a target",
    ],
  ])("names the file and the remedy when the config %s", async (_, text, message) => {
    const cwd = folder({ "esim-webhooks.config.ts": text });
    const { code, stdout, stderr } = await cli(["serve"], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`Error (invalid_config): ${cwd}/esim-webhooks.config.ts`);
    expect(stderr).toContain(message);
  });

  it("names the line at which the config throws", async () => {
    const cwd = folder({ "esim-webhooks.config.ts": '\nthrow new Error("oh no");' });
    const { code, stdout, stderr } = await cliProcess(["serve"], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`Error (invalid_config): ${cwd}/esim-webhooks.config.ts`);
    expect(stderr).toContain(`oh no. (${cwd}/esim-webhooks.config.ts:2)`);
  });

  it.each([
    [
      "a handler for an unknown event type",
      'export default { handlers: { "esim.fautled": () => {} } };',
      "unknown_event_type",
    ],
    ["a --data-dir beside a target", "export default { target: { put() {} } };", "invalid_usage"],
  ])("ends with 2 for %s", async (_, text, error) => {
    const cwd = folder({ "esim-webhooks.config.ts": text });
    const { code, stderr } = await cli(["serve", "--data-dir", "data"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(`Error (${error}): `);
  });

  it("stores into a target that has only put, and takes its keys from a key source", async () => {
    const config = `import { fileKeySource } from "@esim-webhooks/core/key-file";
      export default { secret: fileKeySource("keys"), target: { put: async (entries) => entries.map(() => "stored") } };`;
    const cwd = folder({ "esim-webhooks.config.ts": config, keys: secret });
    chmodSync(join(cwd, "keys"), 0o600);
    const env = { ESIM_WEBHOOK_SECRET: "" };
    const running = start(["serve", "--port", "0"], { cwd, env });
    const url = await urlOf(running);
    await running.written(/Its own consumers process them/);
    expect((await cliProcess(["send", "esim.enabled", "--url", url], { cwd, env })).code).toBe(0);
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining("Warning") });
  });

  it("names a key file that is not there, once and without a stack, and waits for it", async () => {
    const cwd = folder({
      "esim-webhooks.config.ts": `import { fileKeySource } from "@esim-webhooks/core/key-file";
      export default { secret: fileKeySource("k.json") };`,
    });
    const running = start(["serve", "--port", "0"], { cwd, env: { ESIM_WEBHOOK_SECRET: "" } });
    await urlOf(running);
    running.child.kill("SIGTERM");
    const { stdout } = await running.ended;
    expect(stdout.match(/The key file k\.json does not exist\. Correct the path; or write/g)).toHaveLength(1);
    expect(stdout).not.toContain("ENOENT");
    expect(stdout).not.toMatch(/\bat async\b/);
  });

  it("ends when its standard output is closed", async () => {
    const running = start(["serve"], { cwd: folder({ "esim-webhooks.config.ts": withMemory }) });
    const url = await urlOf(running);
    running.child.stdout?.destroy();
    await fetch(url, event("msg_1")).catch(() => {});
    expect(await running.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining("EPIPE") });
  });

  it("ends with 2 without a secret, before it opens anything, and with 1 when the database is unavailable", async () => {
    const cwd = folder();
    const none = await cli(["serve"], { cwd, env: { ESIM_WEBHOOK_SECRET: "" } });
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^Error \(missing_secret\): .* Set ESIM_WEBHOOK_SECRET/),
    });
    expect(existsSync(join(cwd, ".esim-webhooks"))).toBe(false);
    const away = await cli(["serve"], { env: { DATABASE_URL: "postgres://user:hidden@127.0.0.1:1/shop" } });
    expect(away).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Error \(store_unavailable\): .*ECONNREFUSED/),
    });
    expect(away.stderr).not.toContain("hidden");
  });
});
