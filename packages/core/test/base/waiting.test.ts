import { expect, it, vi } from "vitest";
import { createDeadline } from "../../src/base/waiting.ts";

it("a deadline that passed while the event loop was blocked ends at once, without a warning of Node.js", async () => {
  const warned = vi.spyOn(process, "emitWarning");
  const deadline = createDeadline(1000, performance.now() - 5000);
  expect(await deadline.before(new Promise<never>(() => {}))).toBeUndefined();
  expect(deadline.signal.aborted).toBe(true);
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});
