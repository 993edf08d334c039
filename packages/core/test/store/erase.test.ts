import { eraseSubject } from "@esim-webhooks/core";
import { expect, it } from "vitest";

const none = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };

it("stops after 10,000 calls of an erase that finds events again each time", async () => {
  let calls = 0;
  const inbox = {
    erase: async () => {
      calls += 1;
      return { ...none, done: 1 };
    },
  };
  await expect(eraseSubject(inbox, "esim_1")).rejects.toMatchObject({
    code: "invalid_input",
    remedy: expect.stringContaining("call eraseSubject again"),
  });
  expect(calls).toBe(10_000);
});
