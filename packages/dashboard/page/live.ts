import { computed, signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { CallName, Calls, Failure } from "../src/contract.ts";
import { call, failureOf } from "./call.ts";

/** Whether the reader has switched live updates off: then the page stays as it is. */
export const isFrozen = signal(false);
const isVisible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => {
  isVisible.value = !document.hidden;
});
export const isLive = computed(() => !isFrozen.value && isVisible.value);

/** The number of actions of this page: when it goes up, the shown data is read again. */
export const actions = signal(0);

/** The time, for relative times. Stands still while the page is hidden. */
export const clock = signal(Date.now());
setInterval(() => {
  if (isVisible.value) clock.value = Date.now();
}, 1000);

export interface Loaded<Data> {
  /** The data that was read last. After the key has changed, it is that of the old key until the new data arrives. */
  readonly data?: Data;
  /** When that was, in ms since the Unix epoch. */
  readonly at?: number;
  readonly failure?: Failure;
  /** The key for which `data` was read. */
  readonly key?: string;
  /** The value of `actions` when `data` was read. */
  readonly actions?: number;
}

/** Reads when the key changes, after each action, and every `everyMs` while the page is visible and live. */
export function usePolled<Data>(key: string, everyMs: number, read: () => Promise<Data>): Loaded<Data> {
  const loaded = useSignal<Loaded<Data>>({});
  const latest = useRef(read);
  latest.current = read;
  const seen = actions.value;
  const live = isLive.value;
  useEffect(() => {
    let hasEnded = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    async function load(): Promise<void> {
      const result = await latest.current().then(
        (data): Loaded<Data> => ({ data, at: Date.now(), key, actions: seen }),
        (error): Loaded<Data> => ({ ...loaded.peek(), failure: failureOf(error) }),
      );
      if (hasEnded) return;
      loaded.value = result;
      if (live) timer = setTimeout(load, everyMs);
    }
    const last = loaded.peek();
    if (live || last.key !== key || last.actions !== seen) void load();
    return () => {
      hasEnded = true;
      clearTimeout(timer);
    };
  }, [key, everyMs, seen, live]);
  return loaded.value;
}

export function useCall<Name extends CallName>(
  name: Name,
  input: Calls[Name]["in"],
  everyMs: number,
): Loaded<Calls[Name]["out"]> {
  return usePolled(JSON.stringify([name, input]), everyMs, () => call(name, input));
}
