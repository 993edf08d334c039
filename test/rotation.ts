import { setTimeout as pause } from "node:timers/promises";
import { type KeySource, type LoadedKeys, memoryStore, nodeHandler } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect } from "vitest";
import { listen } from "./listen.ts";
import { type Sent, sendAsThePartnerApi, signed } from "./sender.ts";
import { loggerWith } from "./support/loggers.ts";

/** How long a secret counts after it was rotated. */
const overlapMs = 5000;

/** Rotates that many times while deliveries, redeliveries and forged ones arrive, and expects what is promised. */
export async function rotateUnderLoad(rotations: number): Promise<void> {
  let secret = newSecret();
  const retired: { readonly secret: string; readonly notAfter: Date }[] = [];
  const shared = { now: { keys: [secret] } as LoadedKeys };
  const store = memoryStore();
  const handled = new Map<string, number>();
  const handlers = { "*": ({ id }: { id: string }) => void handled.set(id, (handled.get(id) ?? 0) + 1) };
  const forgers = { accepted: 0, sent: 0 };
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs };
  const heldOff = Promise.withResolvers<void>();
  const logger = loggerWith({
    warn: ({ outcome, id }) => {
      if (outcome === "rotating" && !String(id).startsWith("msg_forged_")) heldOff.resolve();
    },
  });
  const startedAt = performance.now();

  const receivers = await Promise.all(
    [1, 2].map(async () => {
      const loads = { count: 0 };
      const source: KeySource = {
        load: async () => {
          loads.count += 1;
          await pause(Math.random() * 20);
          return shared.now;
        },
      };
      const handler = nodeHandler(handlers, { secret: source, store, logger, clock });
      return { loads, ...(await listen(handler, "/webhooks", handler.close)) };
    }),
  );
  const url = () => receivers[Math.random() < 0.5 ? 0 : 1]?.url ?? "";

  const rotated = new AbortController();
  const events: Promise<Sent>[] = [];
  const redelivered: (Promise<Sent> | undefined)[] = [];
  const stream = (async () => {
    for (let index = 0; !rotated.signal.aborted; index++) {
      const send = () => sendAsThePartnerApi(`msg_${index}`, { secret: () => secret, url, speed: 1000 });
      events.push(send());
      // some are sent twice concurrently, and some again when they have been delivered: at least once means that too
      if (index % 5 === 0) redelivered.push(send());
      if (index % 7 === 0) redelivered.push(events.at(-1)?.then(send));
      await pause(4);
    }
  })();
  const forging = (async () => {
    while (!rotated.signal.aborted) {
      forgers.sent += 1;
      const past = retired.findLast(({ notAfter }) => notAfter.getTime() < Date.now());
      const wrong = forgers.sent % 2 === 0 ? past?.secret : undefined; // a key past its window, or a made-up one
      const forged = signed(`msg_forged_${forgers.sent}`, wrong ?? newSecret());
      void fetch(url(), forged).then(({ ok }) => {
        if (ok) forgers.accepted += 1;
      });
      await pause(10);
    }
  })();

  for (let rotation = 0; rotation < rotations; rotation++) {
    // docs/rotation.md: say that a rotation begins, rotate at the API, then hand the new secret to the receivers
    shared.now = { ...shared.now, rotatingUntil: new Date(Date.now() + 60_000) };
    await pause(20);
    const old = secret;
    secret = newSecret();
    await pause(100 + Math.random() * 500);
    await heldOff.promise; // at least one delivery has come before its key
    retired.push({ secret: old, notAfter: new Date(Date.now() + overlapMs) });
    shared.now = { keys: [...retired, secret] };
    await pause(400 + Math.random() * 400);
  }
  rotated.abort();
  await Promise.all([stream, forging]);
  const sent = await Promise.all(events);
  const again = await Promise.all(redelivered);
  const seconds = (performance.now() - startedAt) / 1000;

  expect(sent.length).toBeGreaterThan(10 * rotations);
  expect(sent.filter(({ end }) => end !== "delivered")).toEqual([]);
  expect(again.filter((one) => one?.end !== "delivered")).toEqual([]);
  expect(again.length).toBeGreaterThan(2 * rotations);
  expect(sent.filter(({ statuses }) => statuses.includes(503)).length).toBeGreaterThan(0);
  expect(handled.size).toBe(sent.length);
  expect([...handled].filter(([, times]) => times !== 1)).toEqual([]);
  expect(forgers.sent).toBeGreaterThan(5 * rotations);
  expect(forgers.accepted).toBe(0);
  for (const { loads } of receivers) expect(loads.count).toBeLessThanOrEqual(1 + Math.ceil(seconds));

  aheadMs = overlapMs;
  for (const receiver of receivers) {
    const late = await Promise.all(retired.map((old) => fetch(receiver.url, signed("msg_late", old.secret))));
    expect(late.map(({ status }) => status)).toEqual(retired.map(() => 401));
    await receiver.close();
  }
}
