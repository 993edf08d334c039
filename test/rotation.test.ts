import { setTimeout as pause } from "node:timers/promises";
import { memoryStore, nodeHandler } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { listen } from "./listen.ts";
import { rotateUnderLoad } from "./rotation.ts";
import { type Sent, sendAsThePartnerApi } from "./sender.ts";

it("loses nothing and handles nothing twice through 3 rotations under load, on two receivers, amid forged deliveries", () =>
  rotateUnderLoad(3));

it("loses nothing when a static secret is rotated by docs/rotation.md: hold off, rotate, start with both secrets", async () => {
  let secret = newSecret();
  const store = memoryStore();
  const handled: string[] = [];
  const start = (secrets: string) =>
    nodeHandler({ "*": ({ id }) => void handled.push(id) }, { secret: secrets, store });
  let receiver = start(secret);
  const server = await listen(
    (request, response) => receiver(request, response),
    "/webhooks",
    async () => {},
  );
  const sendOne = (id: string) =>
    sendAsThePartnerApi(id, { secret: () => secret, url: () => server.url, speed: 1000 });

  const stop = new AbortController();
  const events: Promise<Sent>[] = [];
  const stream = (async () => {
    for (let index = 0; !stop.signal.aborted; index++) {
      events.push(sendOne(`msg_${index}`));
      await pause(3);
    }
  })();
  await pause(200);
  await receiver.close();
  const old = secret;
  secret = newSecret();
  await pause(200);
  receiver = start(`${old} ${secret}`);
  await pause(200);
  stop.abort();
  await stream;
  const sent = await Promise.all(events);
  await server.close();

  expect(sent.filter(({ end }) => end !== "delivered")).toEqual([]);
  expect(sent.some(({ statuses }) => statuses.includes(503))).toBe(true);
  expect(handled.toSorted()).toEqual(sent.map(({ id }) => id).toSorted());
});
