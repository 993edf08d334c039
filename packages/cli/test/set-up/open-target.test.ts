import { expect, it, vi } from "vitest";
import { findInbox } from "../../src/set-up/open-target.ts";
import type { SetUp } from "../../src/set-up/set-up.ts";

it.each<[string, () => Promise<void>]>([
  ["", async () => {}],
  [", and reports the missing role when that fails", () => Promise.reject(new Error("away"))],
])("closes a target that lacks the role of the command%s", async (_, end) => {
  const close = vi.fn(end);
  const setUp: SetUp = {
    file: "config.ts",
    config: { target: { put: async () => [], close } as never },
    secret: undefined,
    secretFrom: undefined,
    catalog: undefined,
    handlers: undefined,
    source: "default",
    place: { dataDir: "unused" },
  };
  await expect(findInbox(setUp, "admin")).rejects.toMatchObject({ code: "not_an_inbox" });
  expect(close).toHaveBeenCalledOnce();
});
