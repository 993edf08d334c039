import { fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { newSecret, signedRequest } from "@esim-webhooks/core/testing";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import fastify from "fastify";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { AppName, RunningApp } from "../bench/http/apps.ts";
import { gathering } from "../bench/inbox-gathering.ts";
import type { Request } from "../bench/load.ts";
import { nextMessage } from "../bench/next-message.ts";
import { installed } from "./installed.ts";
import { privatePostgres, startRedis, type TestServer } from "./servers/index.ts";
import { presentPackages } from "./upgrade/packages.ts";

installed("bench");
const { apps } = await import("../bench/http/apps.ts");

const secret = newSecret();
const names = Object.keys(apps) as AppName[];
const verifying = names.filter((name) => !name.endsWith("bare"));
const deduping = verifying.filter((name) => apps[name].delivery === apps["fastify ours"].delivery);

let redis: TestServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

/** Starts an app, and gives `send` the status of an answer and how many events were handled so far. */
async function withApp(
  name: AppName,
  work: (send: (request: Request) => Promise<readonly [status: number, handled: number]>) => Promise<void>,
): Promise<void> {
  let handled = 0;
  const app: RunningApp = await apps[name].start({
    packages: presentPackages,
    secrets: [secret],
    redisUrl: redis.url,
    handle: () => {
      handled += 1;
    },
  });
  try {
    await work(async (request) => {
      const answer = await fetch(`http://127.0.0.1:${app.port}/webhooks`, { method: "POST", ...request });
      await answer.arrayBuffer();
      return [answer.status, handled];
    });
  } finally {
    await app.close();
  }
}

const changed = ({ headers, body }: Request): Request => ({ headers, body: body.replace("order", "0rder") });

describe("a server of the http bench", () => {
  it.each(verifying)("%s: accepts authentic deliveries of every size and runs the handler", async (name) => {
    await withApp(name, async (send) => {
      for (const [n, bytes] of [300, 2_000, 20_000].entries()) {
        const delivery = apps[name].delivery(secret, bytes);
        expect(delivery.body.length).toBe(bytes);
        const [status, handled] = await send(delivery);
        expect([Math.floor(status / 100), handled]).toEqual([2, n + 1]);
      }
    });
  });

  it.each(verifying)("%s: refuses forged deliveries and runs no handler", async (name) => {
    await withApp(name, async (send) => {
      const { delivery } = apps[name];
      const unsigned = { ...delivery(secret, 300), headers: { "content-type": "application/json" } };
      for (const forged of [changed(delivery(secret, 2_000)), delivery(newSecret(), 300), unsigned]) {
        const [status, handled] = await send(forged);
        expect([status >= 400, handled]).toEqual([true, 0]);
      }
    });
  });

  it.each(deduping)("%s: runs the handler of a delivery that comes twice once", async (name) => {
    await withApp(name, async (send) => {
      const delivery = apps[name].delivery(secret, 300);
      expect(await send(delivery)).toEqual([200, 1]);
      expect(await send(delivery)).toEqual([200, 1]);
    });
  });

  it.each(deduping)("%s: refuses an authentic event that does not fit its schema", async (name) => {
    await withApp(name, async (send) => {
      const event = { type: "esim.faulted", timestamp: new Date().toISOString(), data: { reason: 1 } };
      const [status, handled] = await send(signedRequest(event, { secret }));
      expect([status, handled]).toEqual([500, 0]);
    });
  });
});

describe("a process that a bench gives orders", () => {
  function start(text: string) {
    const file = join(mkdtempSync(join(tmpdir(), "nextMessage-")), "child.mjs");
    writeFileSync(file, text);
    const child = fork(file);
    onTestFinished(() => {
      child.kill();
      rmSync(dirname(file), { recursive: true });
    });
    return child;
  }

  it("answers each of them", async () => {
    const child = start('process.on("message", (order) => process.send(order + 1));');
    expect([await nextMessage(child, 1), await nextMessage(child, 2)]).toEqual([2, 3]);
  });

  it("fails the bench when it ends before it answers, and when it has ended", async () => {
    const child = start('process.on("message", () => process.exit(1));');
    await expect(nextMessage(child, 1)).rejects.toThrow("child.mjs has ended before it answered.");
    await expect(nextMessage(child, 2)).rejects.toMatchObject({ code: "ERR_IPC_CHANNEL_CLOSED" });
  });
});

it("the floor of the inbox bench stores each authentic delivery once, with its body, and refuses forged ones", async () => {
  const server = await privatePostgres();
  const inbox = postgresInbox({ url: server.url });
  await inbox.migrate();
  const pool = new Pool({ connectionString: server.url });
  const app = fastify();
  await gathering(app, server.url, secret);
  const send = async ({ headers, body }: Request) =>
    (await app.inject({ method: "POST", url: "/webhooks", headers, payload: body })).statusCode;

  const deliveries = Array.from({ length: 20 }, () => apps["fastify ours"].delivery(secret, 300));
  const repeated = deliveries.slice(0, 2);
  const answers = await Promise.all([...deliveries, ...repeated].map(send));
  expect(new Set(answers)).toEqual(new Set([202]));
  expect(await send(changed(deliveries[0] as Request))).toBe(401);
  const { rows } = await pool.query("select convert_from(body, 'utf8') as body from gathered.event");
  expect(rows.map(({ body }) => body).sort()).toEqual(deliveries.map(({ body }) => body).sort());
  const parametersOf = async (table: string) =>
    (await pool.query(`select reloptions from pg_class where oid = '${table}'::regclass`)).rows[0].reloptions;
  expect(await parametersOf("gathered.event")).toEqual(await parametersOf("esim_webhooks.event"));
  expect(await parametersOf("gathered.event")).toContain("autovacuum_vacuum_scale_factor=0.02");

  await Promise.all([app.close(), inbox.close(), pool.end()]);
  await server.close();
});
