import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@esim-webhooks/client";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { sampleData } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import { postgresState } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { installed } from "./installed.ts";
import { type Run, runCommand } from "./run.ts";
import { freePort } from "./servers/kept-server.ts";
import { postgresUrl, redisUrl } from "./servers/shared.ts";
import { keysIn, servicesWithSeveralIds } from "./support/several-ids.ts";

const runtimes = join(installed("test/runtimes"), ".bin");

describe("an event of the sandbox is taken by", () => {
  it.each(["fastify", "hono", "node", "bun", "deno"])(
    "examples/adapters/%s.ts: once, though the first attempt is cut and support sends it again",
    async (name) => {
      const sandbox = await startSandbox({ clock: "manual" });
      onTestFinished(() => sandbox.close());
      const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/webhooks`;
      const { signingSecret, webhookEndpointReference } = await api.webhooks.create({
        url,
        eventTypes: ["esim.faulted"],
      });
      const { line } = start(`examples/adapters/${name}.ts`, {
        PORT: String(port),
        ESIM_WEBHOOK_SECRET: signingSecret,
      });
      await line(/^listening at/);

      sandbox.faults.add({ kind: "cut" });
      await sandbox.emit({ type: "esim.faulted", data: sampleData("esim.faulted") });
      await sandbox.advance("30s");
      await sandbox.replay();
      await sandbox.settled();
      const taken: unknown[] = [];
      for await (const delivery of api.webhooks.deliveries(webhookEndpointReference)) {
        taken.push([delivery.status, delivery.attemptNumber, delivery.httpStatus, delivery.responseBody]);
      }
      expect(taken).toEqual([
        ["delivered", 1, 200, '{"outcome":"duplicate"}'],
        ["delivered", 2, 200, '{"outcome":"processed"}'],
      ]);
    },
  );
});

describe("an event that comes to two endpoints, and again under new ids, has one effect in", () => {
  interface Started {
    readonly base: string;
    readonly databaseUrl: string;
    /** Of all its processes, so far. */
    output(): string;
    /** Those under which the two events came. */
    readonly ids: ReadonlySet<string>;
  }
  type Effects = (started: Started) => Promise<unknown[]>;

  /** Each run of the handler prints the key, by which the order call would order once. */
  const printedKeys: Effects = async ({ output, ids }) => {
    await expect.poll(() => keysIn(output())).toHaveLength(ids.size);
    return [...new Set(keysIn(output()))];
  };
  const listed =
    (path: string): Effects =>
    async ({ base }) =>
      (await fetch(`${base}${path}`)).json() as Promise<unknown[]>;

  it.each<[name: string, effects: Effects, number: number]>([
    ["one-line/server", printedKeys, 2],
    ["express/server", listed("/reorders"), 2],
    ["express-redis/server", printedKeys, 2],
    ["express-sqlite/server", listed("/replacements"), 1], // of one eSIM
    ["express-drizzle/server", listed("/orders"), 2],
    ["fastify-postgres/server", ordersAndStock, 2],
    ["embedded/server", printedKeys, 2],
    ["inbox/receiver", ordersOfWorker, 2],
    ["queue-worker/receiver", printedKeys, 2],
    ["bullmq-fleet/receiver", printedKeys, 2],
  ])("examples/%s.ts", async (name, effects, number) => {
    const port = await freePort();
    const base = `http://127.0.0.1:${port}`;
    const { secrets, send, replay } = await servicesWithSeveralIds(`${base}/webhooks`);
    const stores = await ownStores();
    const environment = { PORT: String(port), ESIM_WEBHOOK_SECRET: secrets, ...stores };
    const receiver = start(`examples/${name}.ts`, environment);
    await receiver.line(/^listening at/);
    const worker = name.endsWith("/receiver")
      ? start(`examples/${name.replace(/receiver$/, "worker")}.ts`, environment)
      : undefined;
    await worker?.line(/^working/);
    await send();
    const ids = await replay();
    expect(ids.size).toBe(2 * 2 + 2); // by the first service, one for each endpoint
    const output = () => receiver.output() + (worker?.output() ?? "");
    const started = { base, databaseUrl: stores.DATABASE_URL, output, ids };
    expect(await effects(started)).toHaveLength(number);
  });

  async function ordersAndStock({ databaseUrl }: Started): Promise<unknown[]> {
    expect(await query(databaseUrl, "select available from stock")).toEqual([{ available: 10 - 2 }]);
    return query(databaseUrl, "select key from orders");
  }

  /** Where an example orders, by the environment; and how many orders it has. */
  async function partnerApi() {
    const sandbox = await startSandbox({ clock: "manual" });
    onTestFinished(() => sandbox.close());
    const { url, credentials } = sandbox;
    const api = createClient({ baseUrl: url, ...credentials });
    const counting = { url: "http://127.0.0.1:9/", eventTypes: ["esim.assigned"] };
    const { webhookEndpointReference } = await api.webhooks.create(counting);
    const orders = async () => (await api.webhooks.deliveries(webhookEndpointReference).page()).data;
    const { clientId, clientSecret } = credentials;
    const environment = { ESIM_API_URL: url, ESIM_CLIENT_ID: clientId, ESIM_CLIENT_SECRET: clientSecret };
    return { sandbox, orders, environment };
  }

  it("examples/reorder/server.ts, although the service has forgotten the keys of its orders", async () => {
    const { sandbox, orders, environment } = await partnerApi();
    const port = await freePort();
    const { secrets, send, replay } = await servicesWithSeveralIds(`http://127.0.0.1:${port}/webhooks`);
    const { DATABASE } = await ownStores();
    const own = { PORT: String(port), ESIM_WEBHOOK_SECRET: secrets, DATABASE };
    await start("examples/reorder/server.ts", { ...environment, ...own }).line(/^Listening at/);
    await send();
    await replay();
    expect(await orders()).toHaveLength(2);
    await sandbox.advance("3d");
    await replay();
    expect(await orders()).toHaveLength(2);
  });

  it("examples/observability/worker.ts, although the service has forgotten the keys of its orders", async () => {
    const { sandbox, orders, environment } = await partnerApi();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/webhooks`;
    const { secrets, send, replay } = await servicesWithSeveralIds(url);
    const { DATABASE_URL } = await ownStores();
    const own = { ...environment, DATABASE_URL, PORT: String(port), METRICS_PORT: "0" };
    const registered = await start("examples/observability/register.ts", own).line(/^\S+$/);
    const state = postgresState({ url: DATABASE_URL });
    onTestFinished(() => state.close());
    const keys = stateKeySource(state);
    const { record, version } = (await keys.read()) ?? { record: { keys: [] }, version: undefined };
    await keys.write({ ...record, keys: [...record.keys, ...secrets.split(" ")] }, version);
    await start("examples/observability/receiver.ts", own).line(/^receiving/);
    const endpoint = { ESIM_ENDPOINT: registered[0], STORING_SINCE: new Date().toISOString() };
    await start("examples/observability/worker.ts", { ...own, ...endpoint }).line(/^working/);
    await send();
    const done = () => query(DATABASE_URL, "select id from esim_webhooks.event where state = 'done'");
    await expect.poll(done).toHaveLength((await replay()).size);
    await sandbox.advance("3d");
    await expect.poll(done).toHaveLength((await replay()).size);
    expect(await orders()).toHaveLength(2);
  });

  async function ordersOfWorker({ databaseUrl, ids }: Started): Promise<unknown[]> {
    const done = () => query(databaseUrl, "select id from esim_webhooks.event where state = 'done'");
    await expect.poll(done).toHaveLength(ids.size);
    return query(databaseUrl, "select key from orders");
  }
});

interface Started extends Run {
  /** What it has printed until now. */
  output(): string;
}

/** Runs an example until the test ends. */
function start(file: string, environment: Record<string, string>): Started {
  const run = runExample(file, environment);
  onTestFinished(async () => {
    run.child.kill();
    await run.ended;
  });
  let printed = "";
  run.child.stdout?.on("data", (text) => {
    printed += text;
  });
  return { ...run, output: () => printed };
}

function runExample(file: string, environment: Record<string, string>): Run {
  const condition = "--conditions=@esim-webhooks/source";
  if (file.endsWith("bun.ts")) return runCommand(join(runtimes, "bun"), [condition, file], environment);
  const permissions = ["--allow-net", "--allow-env", "--allow-read"];
  if (file.endsWith("deno.ts")) {
    return runCommand(join(runtimes, "deno"), ["run", ...permissions, condition, file], environment);
  }
  return runCommand(process.execPath, [condition, file], environment);
}

/** Where the examples keep what they know: in a database, a queue and a folder that no other test uses. */
async function ownStores() {
  const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const name = `example_${randomUUID().replaceAll("-", "")}`;
  const database = new URL(postgresUrl);
  database.pathname = name;
  await query(postgresUrl, `create database ${name}`);
  onTestFinished(async () => void (await query(postgresUrl, `drop database ${name} with (force)`)));
  return {
    DATABASE: join(folder, "shop.db"),
    DATA_DIR: join(folder, "data"),
    DATABASE_URL: database.href,
    REDIS_URL: redisUrl,
    QUEUE: name,
  };
}

async function query(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(sql).finally(() => client.end());
  return rows;
}
