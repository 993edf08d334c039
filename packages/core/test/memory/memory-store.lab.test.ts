import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { memoryStore } from "@esim-webhooks/core";
import { expect, it } from "vitest";

it("keeps a million done ids in at most 100 bytes each beyond the id", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const usedBytes = () => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const ids = 1_000_000;
  const idOf = (index: number) => Buffer.from(`msg_${String(index).padStart(24, "0")}`).toString("latin1"); // one piece, as from a request
  const store = memoryStore({ maxEntries: ids });
  const before = usedBytes();
  for (let index = 0; index < ids; index++) {
    const key = { source: "default", id: idOf(index) };
    const claim = store.claim(key, 30_000, 2 ** 32 - 1 - index);
    store.complete(key, "token" in claim ? claim.token : "");
  }
  // threads of the engine free array buffers after the collection
  const bytesOfEach = () => (usedBytes() - before) / ids - idOf(0).length;
  await expect.poll(bytesOfEach, { timeout: 30_000, interval: 200 }).toBeLessThanOrEqual(100);
  expect(store.claim({ source: "default", id: idOf(0) }, 30_000)).toEqual({ status: "done" });
});

it("claims an id as fast when it forgets one for it as when it has room", { timeout: 120_000 }, () => {
  const store = memoryStore({ maxEntries: 100_000 });
  let claimed = 0;
  const cpuOfClaims = (count: number) => {
    const { user, system } = process.cpuUsage();
    for (const end = claimed + count; claimed < end; claimed++) {
      const key = { source: "default", id: `msg_${claimed}` };
      const claim = store.claim(key, 30_000);
      store.complete(key, "token" in claim ? claim.token : "");
    }
    const used = process.cpuUsage();
    return used.user - user + used.system - system;
  };
  cpuOfClaims(50_000); // until the functions are compiled
  const withRoom = cpuOfClaims(50_000);
  cpuOfClaims(100_000);
  expect(cpuOfClaims(50_000) / withRoom).toBeLessThan(8); // it was 40
});
