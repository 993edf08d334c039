import { randomUUID } from "node:crypto";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { type Run, runNode } from "../../../test/run.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";

const redis = redisOfFile();
const secret = newSecret();
const queues = { QUEUE: `new-${randomUUID()}`, OLD_QUEUE: `old-${randomUUID()}` };

/** Runs examples/own-route/before.ts or after.ts, and waits until it listens. */
async function start(
  file: "before" | "after",
  more: Record<string, string> = {},
): Promise<Run & { url: string }> {
  const environment = {
    ...queues,
    ...more,
    REDIS_URL: redis.server.url,
    ESIM_WEBHOOK_SECRET: secret,
    PORT: "0",
  };
  const run = runNode([`examples/own-route/${file}.ts`], environment);
  onTestFinished(async () => {
    run.child.kill();
    await run.ended;
  });
  const [, url = ""] = await run.line(/listening at (\S+)/);
  return { ...run, url: `${url}/webhooks` };
}

async function stop(run: Run): Promise<void> {
  run.child.kill();
  await run.ended;
}

async function deliver({ url }: { url: string }, id: string, key = secret): Promise<number> {
  return (await fetch(url, signedDelivery(key, { id, type: "esim.enabled" }))).status;
}

it("a route and a queue of one's own are replaced, and brought back, and each delivery is handled once", async () => {
  const first = await start("before");
  expect(await deliver(first, "msg_done")).toBe(200);
  await first.line(/old: esim\.enabled msg_done/);
  await stop(first);

  const stalled = await start("before", { PAUSED: "1" });
  expect(await deliver(stalled, "msg_queued")).toBe(200);
  expect(await deliver(stalled, "msg_forged", newSecret())).toBe(401);
  await stop(stalled);

  const after = await start("after");
  for (const id of ["msg_done", "msg_queued", "msg_new"]) expect(await deliver(after, id)).toBe(202);
  expect(await deliver(after, "msg_new")).toBe(202);
  expect(await deliver(after, "msg_forged", newSecret())).toBe(401);
  await after.line(/new: esim\.enabled msg_new/);

  const beside = await start("before"); // its worker empties the old queue
  await beside.line(/old: esim\.enabled msg_queued/);
  await stop(after);

  expect(await deliver(beside, "msg_back")).toBe(200); // the way back
  await beside.line(/old: esim\.enabled msg_back/);
  expect((await after.ended).output.match(/new: .*/g)).toEqual(["new: esim.enabled msg_new"]);
});
