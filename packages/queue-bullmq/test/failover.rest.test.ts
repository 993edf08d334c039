import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { expect, it } from "vitest";
import { redisPair } from "../../../test/failover/pair.ts";
import { failoverSuite, inboxWriter } from "../../../test/failover/suite.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { entryOf, openersOn } from "./set-up.ts";

expectWarnings("read_only_store");

const { opened, openInbox } = openersOn(() => "");

failoverSuite("bullmqInbox", {
  start: redisPair,
  open: async (url) => inboxWriter(bullmqInbox({ connection: url })),
});

it("works each job once and goes on with the new primary, while a handler runs and the connections of the worker stay", async () => {
  const pair = await redisPair();
  opened.push(pair);
  const inbox = openInbox({ connection: pair.url });
  const handled: string[] = [];
  const [began, failedOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const worker = inbox.createWorker({
    "*": async ({ id }) => {
      handled.push(id);
      if (id !== "during") return;
      began.resolve();
      await failedOver.promise;
    },
  });
  const stopping = new AbortController();
  const running = worker.run({ signal: stopping.signal });
  await inbox.put([entryOf("during")]);
  await began.promise;
  await pair.demote();
  failedOver.resolve(); // its job ends while no server takes the end
  await inbox.put([entryOf("refused")]).catch(() => {});
  await pair.lead();
  await expect.poll(() => inbox.put([entryOf("after")]).catch(String)).toEqual(["stored"]);
  await expect.poll(() => handled).toEqual(["during", "after"]);
  await expect
    .poll(async () => (await inbox.gauges()).counts)
    .toMatchObject({ ready: 0, leased: 0, dead: 0 });
  stopping.abort();
  await running;
});
