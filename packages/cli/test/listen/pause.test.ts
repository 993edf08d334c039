import { expect, it, vi } from "vitest";
import { pause } from "../../src/listen/relay.ts";

it("a pause until a time that has passed ends at once, without a warning of Node.js", async () => {
  const warned = vi.spyOn(process, "emitWarning");
  await pause(-0.5);
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});
