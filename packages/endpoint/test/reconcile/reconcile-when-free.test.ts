import { WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { reconcileWhenFree } from "../../src/reconcile/reconcile-when-free.ts";

/** A pass that another one keeps out until a time, and what was logged. */
function pass(freeAtMs: number, code: EndpointErrorCode | "store_unavailable" = "reconcile_in_use") {
  let nowMs = 0;
  const lines: string[] = [];
  const options = {
    clock: {
      now: () => nowMs,
      async wait(ms: number) {
        nowMs += ms;
      },
    },
    signal: new AbortController().signal,
    logger: loggerWith({ info: (_, line) => void lines.push(line) }),
  };
  const run = () =>
    reconcileWhenFree(async () => {
      if (nowMs < freeAtMs) throw new WebhookError<typeof code>(code, "A pass.", "Wait.");
      return nowMs;
    }, options);
  return { run, lines, now: () => nowMs };
}

it("reconciles as soon as no other pass is under way, and says once that it waits", async () => {
  const { run, lines } = pass(30_000);
  expect(await run()).toBe(30_000);
  expect(lines).toEqual([expect.stringContaining("waiting for it to end")]);
});

it("gives up after ten minutes, and does not wait after any other error", async () => {
  const busy = pass(Number.POSITIVE_INFINITY);
  await expect(busy.run()).rejects.toMatchObject({ code: "reconcile_in_use" });
  expect(busy.now()).toBe(600_000);
  const broken = pass(30_000, "store_unavailable");
  await expect(broken.run()).rejects.toMatchObject({ code: "store_unavailable" });
  expect([broken.now(), broken.lines]).toEqual([0, []]);
});
