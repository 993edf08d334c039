import { vi } from "vitest";

/** Returns a logger whose methods keep their calls. The other loggers are in a file without Vitest, for the processes that tests start. */
export function keptLog() {
  return { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
}
