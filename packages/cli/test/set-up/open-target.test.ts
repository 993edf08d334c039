import { expect, it, vi } from "vitest";
import { findInbox } from "../../src/set-up/open-target.ts";
import { setUpOf } from "./set-up-of.ts";

it.each<[string, () => Promise<void>]>([
  ["", async () => {}],
  [", and reports the missing role when that fails", () => Promise.reject(new Error("away"))],
])("closes a target that lacks the role of the command%s", async (_, end) => {
  const close = vi.fn(end);
  const setUp = setUpOf({ config: { target: { put: async () => [], close } as never } });
  await expect(findInbox(setUp, "admin")).rejects.toMatchObject({ code: "not_an_inbox" });
  expect(close).toHaveBeenCalledOnce();
});
