import { expect, it, vi } from "vitest";
import { sleep } from "../../src/listen/relay.ts";

it("a sleep until a time that has passed ends at once, without a warning of Node.js", async () => {
  const warned = vi.spyOn(process, "emitWarning");
  await sleep(-0.5);
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});
