import { setTimeout as pause } from "node:timers/promises";
import { type InboxWriter, nodeHandler } from "@esim-webhooks/core";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { onTestFinished } from "vitest";
import { answerTo, inLanes } from "../deliver.ts";
import { listen } from "../listen.ts";

/** Receivers in front of inboxes, and a sender that repeats each delivery until one of them has acknowledged it. */
export interface Receivers {
  /** How many deliveries were answered with each status other than 202; 0 stands for a connection error. */
  readonly refused: ReadonlyMap<number, number>;
  /** The id of each delivery that was answered as stored. */
  readonly stored: readonly string[];
  /** Delivers each event 1 to 4 times, to any of the receivers. `begun` resolves once a random part of the deliveries is acknowledged. */
  deliverAll(ids: readonly string[]): { readonly begun: Promise<void>; readonly delivered: Promise<void> };
}

/** Starts a receiver for each inbox, and closes them when the test ends. */
export async function startReceivers(inboxes: readonly InboxWriter[]): Promise<Receivers> {
  const secret = newSecret();
  const receivers = await Promise.all(
    inboxes.map((inbox) => {
      const handler = nodeHandler(inbox, { secret });
      return listen(handler, "/", handler.close);
    }),
  );
  onTestFinished(async () => void (await Promise.all(receivers.map((receiver) => receiver.close()))));
  const timestamp = new Date().toISOString();
  const refused = new Map<number, number>();
  const stored: string[] = [];

  async function deliverOnce(id: string): Promise<boolean> {
    const event = { id, type: "esim.enabled", timestamp, data: sampleData("esim.enabled") };
    const receiver = receivers[Math.floor(Math.random() * receivers.length)];
    const { status, body } = await answerTo(receiver?.url ?? "", signedRequest(event, { secret }));
    if (status !== 202) refused.set(status, (refused.get(status) ?? 0) + 1);
    if (body === '{"outcome":"stored"}') stored.push(id);
    return status === 202;
  }

  return {
    refused,
    stored,
    deliverAll(ids) {
      const deliveries = ids.flatMap((id) => Array<string>(1 + Math.floor(Math.random() * 4)).fill(id));
      let left = Math.ceil(deliveries.length * (0.25 + Math.random() / 2));
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const delivered = inLanes(deliveries, 200, async (id) => {
        while (!(await deliverOnce(id))) await pause(100); // as the sender does: tries again
        left -= 1;
        if (left === 0) begin();
      });
      return { begun, delivered };
    },
  };
}
