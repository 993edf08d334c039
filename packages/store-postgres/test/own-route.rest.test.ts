import { randomUUID } from "node:crypto";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { type Run, runNode } from "../../../test/run.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";

const secret = newSecret();

async function queryAt(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client.query(text).finally(() => client.end());
}

async function ownDatabase(): Promise<string> {
  const name = `own_route_${randomUUID().replaceAll("-", "")}`;
  await queryAt(postgresUrl, `create database ${name}`);
  onTestFinished(async () => void (await queryAt(postgresUrl, `drop database ${name} with (force)`)));
  const url = new URL(postgresUrl);
  url.pathname = name;
  return url.href;
}

async function start(file: string, database: string): Promise<Run & { url: string }> {
  const environment = { DATABASE_URL: database, ESIM_WEBHOOK_SECRET: secret, PORT: "0" };
  const run = runNode([`examples/own-route/${file}.ts`], environment);
  onTestFinished(async () => {
    run.child.kill();
    await run.ended;
  });
  const [, url = ""] = await run.line(/listening at (\S+)/);
  return { ...run, url: `${url}/webhooks` };
}

async function deliver({ url }: { url: string }, id: string, key = secret): Promise<number> {
  const event = {
    id,
    type: "esim.enabled",
    timestamp: "2026-11-20T12:00:00Z",
    data: sampleData("esim.enabled"),
  } as const;
  return (await fetch(url, signedRequest(event, { secret: key }))).status;
}

it("a Fastify route with a table of ids is replaced while both run, and brought back, and each id takes effect once", async () => {
  const database = await ownDatabase();
  const before = await start("table-before", database);
  expect(await deliver(before, "msg_done")).toBe(200);

  const after = await start("table-after", database);
  for (const id of ["msg_done", "msg_new", "msg_new"]) expect(await deliver(after, id)).toBe(200);
  expect(await deliver(before, "msg_new")).toBe(200); // its answer was lost, and the balancer chose the old route
  for (const route of [before, after]) expect(await deliver(route, "msg_forged", newSecret())).toBe(401);
  await Promise.all([before, after].map((route) => deliver(route, "msg_both"))); // at the same moment

  after.child.kill(); // the way back
  await after.ended;
  for (const id of ["msg_new", "msg_back"]) expect(await deliver(before, id)).toBe(200);

  const { rows } = await queryAt(database, "select id, route from effects order by id");
  const both = { id: "msg_both", route: expect.stringMatching(/^(?:old|new)$/) };
  expect(rows).toEqual([
    { id: "msg_back", route: "old" },
    both,
    { id: "msg_done", route: "old" },
    { id: "msg_new", route: "new" },
  ]);
});
