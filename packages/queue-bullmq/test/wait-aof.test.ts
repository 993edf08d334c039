import { expect, it } from "vitest";
import type { QueueClient } from "../src/redis/queue.ts";
import { checkCanWait, createOnDisk } from "../src/redis/wait-aof.ts";

/** A client that answers WAITAOF with these numbers of servers, one after the other. */
function clientThat(...answers: readonly number[]): { client: QueueClient; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const call = async (...args: unknown[]) => [answers[calls.push(args) - 1], 0];
  return { client: { isCluster: false, call } as QueueClient, calls };
}

it("waits for the local append-only file for half of the timeout, with one command for calls at the same time", async () => {
  const { client, calls } = clientThat(1, 1);
  const onDisk = createOnDisk(async () => client, 5000);
  const results = Array.from({ length: 50 }, (_, n) => onDisk(async () => n));
  expect(await Promise.all(results)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  expect(calls).toEqual([["WAITAOF", 1, 0, 2500]]);
});

it("rejects with store_unavailable when the file is not on disk in time", async () => {
  const onDisk = createOnDisk(async () => clientThat(0).client, 5000);
  await expect(onDisk(async () => {})).rejects.toMatchObject({
    code: "store_unavailable",
    message: /Check its disk/,
  });
});

it("refuses a client that cannot send the command, and a cluster", () => {
  const { client } = clientThat();
  const { call: _, ...withoutCall } = client;
  expect(() => checkCanWait(withoutCall)).toThrow(/no way to send WAITAOF.*Pass connection/);
  expect(() => checkCanWait({ ...client, isCluster: true })).toThrow(/Cluster.*appendfsync to always/);
  checkCanWait(client);
});
