import { expect, it } from "vitest";
import type { QueueClient } from "../src/redis/queue.ts";
import { checkCanWait, createWaitAof } from "../src/redis/wait-aof.ts";

/** A client that answers WAITAOF with these numbers of servers, one after the other. */
function clientThat(...answers: readonly number[]): { client: QueueClient; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const call = async (...args: unknown[]) => [answers[calls.push(args) - 1], 0];
  return { client: { isCluster: false, info: async () => "", call }, calls };
}

it("waits for the local append-only file for half of the timeout, with one command for calls at the same time", async () => {
  const { client, calls } = clientThat(1, 1);
  const wait = createWaitAof(async () => client, 5000);
  await Promise.all(Array.from({ length: 50 }, wait));
  expect(calls).toEqual([["WAITAOF", 1, 0, 2500]]);
});

it("rejects with store_unavailable when the file is not on disk in time", async () => {
  const wait = createWaitAof(async () => clientThat(0).client, 5000);
  await expect(wait()).rejects.toMatchObject({ code: "store_unavailable", message: /Check its disk/ });
});

it("refuses a client that cannot send the command, and a cluster", () => {
  const { client } = clientThat();
  const { call: _, ...withoutCall } = client;
  expect(() => checkCanWait(withoutCall)).toThrow(/no way to send WAITAOF.*Pass connection/);
  expect(() => checkCanWait({ ...client, isCluster: true })).toThrow(/Cluster.*appendfsync to always/);
  checkCanWait(client);
});
