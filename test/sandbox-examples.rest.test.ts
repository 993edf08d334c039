import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@esim-webhooks/client";
import { sampleData } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { installed } from "./installed.ts";
import { runCommand } from "./run.ts";
import { freePort } from "./servers/kept-server.ts";
import { postgresUrl, redisUrl } from "./servers/shared.ts";

const runtimes = join(installed("test/runtimes"), ".bin");
const processed = [200, '{"outcome":"processed"}'];
const stored = [202, '{"outcome":"stored"}'];

describe("an event of the sandbox is taken by", () => {
  it.each([
    ["examples/express/server.ts", processed],
    ["examples/one-line/server.ts", processed],
    ["examples/express-redis/server.ts", processed],
    ["examples/express-sqlite/server.ts", processed],
    ["examples/express-drizzle/server.ts", processed],
    ["examples/fastify-postgres/server.ts", processed],
    ["examples/embedded/server.ts", stored],
    ["examples/inbox/receiver.ts", stored],
    ["examples/queue-worker/receiver.ts", stored],
    ["examples/adapters/fastify.ts", processed],
    ["examples/adapters/hono.ts", processed],
    ["examples/adapters/node.ts", processed],
    ["examples/adapters/bun.ts", processed],
    ["examples/adapters/deno.ts", processed],
  ])("%s: once, though the first attempt is cut and support sends it again", async (file, answer) => {
    const sandbox = await startSandbox({ clock: "manual" });
    onTestFinished(() => sandbox.close());
    const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/webhooks`;
    const { signingSecret, webhookEndpointReference } = await api.webhooks.create({
      url,
      eventTypes: ["esim.faulted"],
    });
    const { line, child, ended } = start(file, {
      PORT: String(port),
      ESIM_WEBHOOK_SECRET: signingSecret,
      ...(await ownStores()),
    });
    onTestFinished(async () => {
      child.kill();
      await ended;
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
    const again =
      answer === stored ? [202, expect.stringMatching(/stored"/)] : [200, '{"outcome":"duplicate"}'];
    expect(taken).toEqual([
      ["delivered", 1, ...again],
      ["delivered", 2, ...answer],
    ]);
  });
});

function start(file: string, environment: Record<string, string>) {
  const condition = "--conditions=@esim-webhooks/source";
  if (file.endsWith("bun.ts")) return runCommand(join(runtimes, "bun"), [condition, file], environment);
  const permissions = ["--allow-net", "--allow-env", "--allow-read"];
  if (file.endsWith("deno.ts")) {
    return runCommand(join(runtimes, "deno"), ["run", ...permissions, condition, file], environment);
  }
  return runCommand(process.execPath, [condition, file], environment);
}

/** Where the examples keep what they know: in a database, a queue and a folder that no other test uses. */
async function ownStores(): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-example-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const name = `example_${randomUUID().replaceAll("-", "")}`;
  const database = new URL(postgresUrl);
  database.pathname = name;
  await query(`create database ${name}`);
  onTestFinished(() => query(`drop database ${name} with (force)`));
  return {
    DATABASE: join(folder, "shop.db"),
    DATA_DIR: join(folder, "data"),
    DATABASE_URL: database.href,
    REDIS_URL: redisUrl,
    QUEUE: name,
  };
}

async function query(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(sql);
  await client.end();
}
