import { expect, it } from "vitest";
import { makeAddsAtomic } from "../src/redis/atomic-add.ts";
import type { BullmqQueue, QueueClient } from "../src/redis/queue.ts";

it.each([
  ["names", "addAnyJob"],
  ["arguments", "addStandardJob"],
])("refuses a BullMQ whose scripts have other %s, in place of adds that can fail half-way", (_, name) => {
  const connection = {
    packageVersion: "9.0.0",
    loadCommands(this: { _client: QueueClient }, version: string) {
      this._client.defineCommand(`${name}:${version}`, { numberOfKeys: 1, lua: "return 1" });
    },
  };
  const queue = { getBackend: () => ({ connection }) } as unknown as BullmqQueue;
  expect(() => makeAddsAtomic(queue, {} as QueueClient)).toThrow(
    expect.objectContaining({
      code: "invalid_option",
      message: expect.stringMatching(/scripts of BullMQ 9\.0\.0.*Use BullMQ 6\.7/),
    }),
  );
});
