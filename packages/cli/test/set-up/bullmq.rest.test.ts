import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { privateRedis, type TestServer } from "../../../../test/servers/index.ts";
import { cli, folder, jsonLines, secret, start } from "../cli.ts";
import { startBackend } from "../endpoint/backend.ts";

let server: TestServer;
let redis: Redis;
let cwd: string;
beforeAll(async () => {
  server = await privateRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});
beforeEach(async () => {
  await redis.flushall();
  const config = `import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
    import { defineConfig } from "@esim-webhooks/cli";
    export default defineConfig({
      target: bullmqInbox({ connection: ${JSON.stringify(server.url)}, jobOptions: { attempts: 1 } }),
      handlers: { "esim.faulted": ({ id }) => {
        if (id === "msg_fails") throw new Error("no luck");
        if (id === "msg_hangs") return new Promise(() => {});
      } },
      worker: { concurrency: 1, shutdownMs: 0 },
      port: 0,
    });`;
  cwd = folder({
    "esim-webhooks.config.ts": config,
    "dump.ndjson": ["msg_1", "msg_2"].map((id) => JSON.stringify(delivered(id))).join("\n"),
  });
});

const timestamp = "2026-11-20T12:00:00Z";
const envelope = { type: "esim.faulted", timestamp, data: sampleData("esim.faulted") };

/** A delivery as somebody captured it. */
function delivered(id: string) {
  const { headers, body } = signedRequest({ id, ...envelope }, { secret, at: new Date(timestamp) });
  return { headers, body, receivedAt: timestamp };
}

it("serve stores deliveries as jobs, and handles them with BullMQ's workers", async () => {
  const running = start(["serve"], { cwd });
  const [, url = ""] = await running.written(/Listening at \S*?(http:\S+\/[\w/]+)/);
  for (const id of ["msg_1", "msg_fails"])
    expect((await fetch(url, signedRequest({ id, ...envelope }, { secret }))).status).toBe(202);
  await running.written(/"id":"msg_1".*"outcome":"done"/);
  await running.written(/"id":"msg_fails".*no luck/);
  running.child.kill("SIGTERM");
  const ended = await running.ended;
  expect(ended.code).toBe(0);
  expect(jsonLines(ended)).toContainEqual(expect.objectContaining({ id: "msg_1", outcome: "stored" }));
});

it("import stores a dump's events, work handles them, and inbox and doctor show them", async () => {
  const imported = await cli(["import", join(cwd, "dump.ndjson")], { cwd });
  expect(imported.code).toBe(0);
  const again = await cli(["import", join(cwd, "dump.ndjson"), "--json"], { cwd });
  expect(JSON.parse(again.stdout)).toMatchObject({ ledger: { read: 2, duplicate: 2 } });

  const stats = await cli(["inbox", "stats", "--json"], { cwd });
  expect(JSON.parse(stats.stdout)).toMatchObject({ counts: { ready: 2 } });
  const doctor = await cli(["doctor"], { cwd });
  expect(doctor.stdout).toMatch(/store.*durable/);
  expect(doctor.stdout).toMatch(/waiting.*2 events wait/);

  const running = start(["work"], { cwd });
  for (const id of ["msg_1", "msg_2"]) await running.written(new RegExp(`"id":"${id}".*"outcome":"done"`));
  running.child.kill("SIGTERM");
  expect((await running.ended).code).toBe(0);
  const shown = await cli(["inbox", "show", "msg_1", "--json"], { cwd });
  expect(JSON.parse(shown.stdout)).toMatchObject({ id: "msg_1", state: "done" });
});

it("doctor tells of workers that live and take nothing", async () => {
  const dump = ["msg_hangs", "msg_2"].map((id) => JSON.stringify(delivered(id))).join("\n");
  await cli(["import", join(folder({ "dump.ndjson": dump }), "dump.ndjson")], { cwd });
  const running = start(["work"], { cwd });
  const queue = new Queue("esim-webhooks", { connection: { url: server.url } });
  onTestFinished(() => queue.close());
  await expect.poll(() => queue.getJobCounts("active")).toEqual({ active: 1 });
  expect((await cli(["doctor"], { cwd })).stdout).toMatch(/ok +waiting/);

  const [job] = await queue.getJobs(["waiting"]);
  await redis.hset(`bull:esim-webhooks:${job?.id}`, "timestamp", Date.now() - 16 * 60_000);
  expect((await cli(["doctor"], { cwd })).stdout).toMatch(
    /✘ +waiting +2 events wait; the oldest has been due for 16m/,
  );
  running.child.kill("SIGTERM");
  expect((await running.ended).code).toBe(0); // although its handler never ends
});

it("doctor reports an option of the worker that work refuses for BullMQ", async () => {
  const cwd = folder({
    "esim-webhooks.config.ts": `import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
      const target = bullmqInbox({ connection: ${JSON.stringify(server.url)} });
      export default { target, handlers: { "*": () => {} }, worker: { maxAttempts: 5 } };`,
  });
  const refusal = /config\.ts: .*there is no option "maxAttempts"/;
  const refused = await cli(["work"], { cwd });
  expect(refused.stderr).toMatch(refusal);
  const { code, stdout } = await cli(["doctor"], { cwd });
  expect(code).toBe(3);
  expect(stdout.split("\n").find((line) => /^✘ +worker/.test(line))).toMatch(refusal);
});

it("inbox lists and retries dead events, and says which filters BullMQ cannot answer", async () => {
  const running = start(["serve"], { cwd });
  const [, url = ""] = await running.written(/Listening at \S*?(http:\S+\/[\w/]+)/);
  const { status } = await fetch(url, signedRequest({ id: "msg_fails", ...envelope }, { secret }));
  expect(status).toBe(202);
  await running.written(/"id":"msg_fails".*no luck/);
  running.child.kill("SIGTERM");
  await running.ended;
  const listed = await cli(["inbox", "list", "--status", "dead"], { cwd });
  expect(listed.stdout).toMatch(/msg_fails +esim\.faulted +dead .*no luck/);
  const refused = await cli(["inbox", "list", "--types", "esim.faulted"], { cwd });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/cannot select events by type.*state or by ids/);
  const retried = await cli(["inbox", "retry", "--yes"], { cwd });
  expect(retried.stdout).toBe("Made ready again: 1 dead event.\n");
  expect((await cli(["inbox", "list", "--json"], { cwd })).stdout).toMatch(/"state":"ready"/);
});

it("reconcile brings missed events in as jobs, once", async () => {
  const backend = await startBackend();
  await backend.down();
  const missed = await backend.emit(2);
  await backend.sandbox.advance("16h");
  writeFileSync(
    join(backend.cwd, "esim-webhooks.config.mjs"),
    `import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
     import { redisState } from "@esim-webhooks/store-redis";
     const url = ${JSON.stringify(server.url)};
     export default { target: bullmqInbox({ connection: url }), state: redisState(url) };`,
  );
  const first = await cli(["reconcile", "--since", "1h"], backend);
  expect(first.stdout).toMatch(/^stored +2 +recovered: 2 not delivered$/m);
  const listed = await cli(["inbox", "list", "--json"], backend);
  expect(jsonLines(listed).map(({ id }) => id)).toEqual(expect.arrayContaining(missed));
  const again = await cli(["reconcile", "--since", "1h"], backend);
  expect(again.stdout).toMatch(/^stored +0$/m);
  expect(again.stdout).toMatch(/^duplicate +2 /m);
});

it("serve stores into a queue of the config's own, and says that its consumers process the events; work is refused", async () => {
  const cwd = folder({
    "esim-webhooks.config.ts": `import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
      import { defineConfig } from "@esim-webhooks/cli";
      import { Queue } from "bullmq";
      const queue = new Queue("own", { connection: { url: ${JSON.stringify(server.url)} } });
      export default defineConfig({ target: bullmqInbox({ queue }), handlers: { "*": () => {} }, port: 0 });`,
  });
  const running = start(["serve"], { cwd });
  const [, url = ""] = await running.written(/Listening at \S*?(http:\S+\/[\w/]+)/);
  await running.written(
    /Its own consumers process them, and the handlers in \S+config\.ts do not run here\./,
  );
  expect((await fetch(url, signedRequest({ id: "msg_1", ...envelope }, { secret }))).status).toBe(202);
  running.child.kill("SIGTERM");
  expect((await running.ended).code).toBe(0);
  expect(await redis.llen("bull:own:wait")).toBe(1);
  const refused = await cli(["work"], { cwd });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/lacks the role "queue".*Use the tools of that queue/);
});
