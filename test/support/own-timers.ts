import { onTestFinished } from "vitest";

/**
 * Returns a function that counts the timers which the sources of the packages have set since, and which have neither fired nor been cleared. In
 * a process with other test files, `vi.getTimerCount()` may count theirs, and those of fetch.
 */
export function countOwnTimers(): () => number {
  const pending = new Set<unknown>();
  const isOwn = () => /\/packages\/[^/]+\/src\//.test(new Error().stack?.split("\n")[3] ?? "");

  function watch(name: "setTimeout" | "setInterval", clearName: "clearTimeout" | "clearInterval"): void {
    const [set, clear] = [globalThis[name], globalThis[clearName]];
    const setting = ((run: () => void, ms?: number) => {
      const timer = set(() => {
        if (name === "setTimeout") pending.delete(timer);
        run();
      }, ms);
      if (isOwn()) pending.add(timer);
      return timer;
    }) as typeof set;
    const clearing: typeof clear = (timer) => {
      pending.delete(timer);
      clear(timer);
    };
    Object.assign(globalThis, { [name]: setting, [clearName]: clearing });
    onTestFinished(() => {
      // unless the time that the test had stopped has been released before
      if (globalThis[name] === setting) Object.assign(globalThis, { [name]: set });
      if (globalThis[clearName] === clearing) Object.assign(globalThis, { [clearName]: clear });
    });
  }

  watch("setTimeout", "clearTimeout");
  watch("setInterval", "clearInterval");
  return () => pending.size;
}
