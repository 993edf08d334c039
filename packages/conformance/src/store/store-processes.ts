import assert from "node:assert/strict";
import type { Claim, StoreCapabilities } from "@esim-webhooks/core";
import type { Call, ProcessScenario } from "../base/other-process.ts";
import { newKey } from "./store-context.ts";

const hourMs = 3_600_000;

/** Scenarios for a child process, and for several if the store allows it. */
export function storeProcesses({ multiProcess }: StoreCapabilities): readonly ProcessScenario[] {
  const always: readonly ProcessScenario[] = [
    [
      "leaves no handle open when it is closed twice, so the process ends by itself",
      async (start) => {
        const process = await start();
        await process.call(["claim", newKey(), 1000]);
        assert.equal(await process.end(), 0);
      },
    ],
    [
      "does not depend on a client's clock, even if it is an hour off",
      async (start) => {
        const process = await start();
        const key = newKey();
        const [claim] = await process.call<Claim>(["claim", key, 60_000]);
        assert.equal(claim?.status, "claimed");
        for (const offset of [hourMs, -hourMs]) {
          await process.call(["setClockBy", offset]);
          const [duplicate] = await process.call<Claim>(["claim", key, 60_000]);
          assert.ok(duplicate?.status === "busy" && duplicate.retryAfterMs <= 60_000);
        }
        const token = claim?.status === "claimed" ? claim.token : "";
        assert.deepEqual(await process.call(["complete", key, token]), [true]);
        await process.call(["setClockBy", 31 * 24 * hourMs]);
        assert.deepEqual(await process.call(["claim", key, 60_000]), [{ status: "done" }]);
        await process.end();
      },
    ],
  ];
  const between: readonly ProcessScenario[] = [
    [
      "grants one of 200 concurrent claims of an id from four processes",
      async (start) => {
        const processes = await Promise.all([start(), start(), start(), start()]);
        for (let round = 0; round < 10; round++) {
          const key = newKey();
          const calls = Array.from({ length: 50 }, (): Call => ["claim", key, 60_000]);
          const claims = (
            await Promise.all(processes.map((process) => process.call<Claim>(...calls)))
          ).flat();
          assert.equal(claims.length, 200);
          assert.equal(claims.filter(({ status }) => status === "claimed").length, 1);
          assert.equal(claims.filter(({ status }) => status === "busy").length, 199);
        }
        await Promise.all(processes.map((process) => process.end()));
      },
    ],
    [
      "reports a conflict to a process with another fingerprint than the owner's",
      async (start) => {
        const [owner, other] = await Promise.all([start(), start()]);
        const key = newKey();
        const [claim] = await owner.call<Claim>(["claim", key, 60_000, 1]);
        assert.ok(claim?.status === "claimed");
        const [same, another] = await other.call<Claim>(["claim", key, 60_000, 1], ["claim", key, 60_000, 2]);
        assert.ok(same?.status === "busy" && same.conflict === undefined);
        assert.ok(another?.status === "busy" && another.conflict === true);
        assert.deepEqual(await owner.call(["complete", key, claim.token]), [true]);
        assert.deepEqual(await other.call(["claim", key, 60_000, 1], ["claim", key, 60_000, 2]), [
          { status: "done" },
          { status: "done", conflict: true },
        ]);
        await Promise.all([owner.end(), other.end()]);
      },
    ],
    [
      "keeps a lease, whichever process's clock is an hour off",
      async (start) => {
        const [right, wrong] = await Promise.all([start(), start()]);
        for (const offset of [hourMs, -hourMs]) {
          await wrong.call(["setClockBy", offset]);
          for (const [owner, other] of [
            [right, wrong],
            [wrong, right],
          ] as const) {
            const key = newKey();
            assert.equal((await owner.call<Claim>(["claim", key, 60_000]))[0]?.status, "claimed");
            const [duplicate] = await other.call<Claim>(["claim", key, 60_000]);
            assert.ok(duplicate?.status === "busy" && duplicate.retryAfterMs <= 60_000);
          }
        }
        await Promise.all([right.end(), wrong.end()]);
      },
    ],
  ];
  return multiProcess ? [...always, ...between] : always;
}
