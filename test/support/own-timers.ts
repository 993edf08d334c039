import { onTestFinished, vi } from "vitest";

/**
 * Returns a function that counts the timers which the sources of the packages have set since, and which have neither fired nor been cleared. In
 * a process with other test files, `vi.getTimerCount()` may count theirs, and those of fetch.
 */
export function countOwnTimers(): () => number {
  const pending = new Set<unknown>();
  const isOwn = () => /\/packages\/[^/]+\/src\//.test(new Error().stack?.split("\n")[4] ?? "");

  function watch(name: "setTimeout" | "setInterval", clearName: "clearTimeout" | "clearInterval"): void {
    const [set, clear] = [globalThis[name], globalThis[clearName]];
    const setting = vi.spyOn(globalThis, name).mockImplementation(((run: () => void, ms?: number) => {
      const timer = set(() => {
        if (name === "setTimeout") pending.delete(timer);
        run();
      }, ms);
      if (isOwn()) pending.add(timer);
      return timer;
    }) as typeof set);
    const clearing = vi.spyOn(globalThis, clearName).mockImplementation((timer) => {
      pending.delete(timer);
      clear(timer);
    });
    onTestFinished(() => {
      setting.mockRestore();
      clearing.mockRestore();
    });
  }

  watch("setTimeout", "clearTimeout");
  watch("setInterval", "clearInterval");
  return () => pending.size;
}
