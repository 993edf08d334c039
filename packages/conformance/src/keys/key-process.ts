// The child process of `crashSuite`, with the key store under test.
import { answerCalls } from "../base/other-process.ts";
import { countIn, countUp, numbered, type OpenedKeys, type OpenKeys } from "./key-context.ts";

const [module = ""] = process.argv.slice(2);
const { default: open } = (await import(module)) as { default: OpenKeys };
const opened = new Map<string, Promise<OpenedKeys>>();

async function keysOf(name: string): Promise<OpenedKeys["keys"]> {
  const one = opened.get(name) ?? Promise.resolve(open(name));
  opened.set(name, one);
  return (await one).keys;
}

const operations: Record<string, (...args: never[]) => unknown> = {
  /** A null version stands for undefined, which JSON does not have. */
  write: async (name: string, count: number, version: string | null) =>
    (await keysOf(name)).write(numbered(count), version ?? undefined),
  async countUp(name: string, times: number) {
    for (let n = 0; n < times; n++) await countUp(await keysOf(name));
  },
  /** Writes until the process is killed. */
  async writeOn(name: string) {
    for (;;) await countUp(await keysOf(name));
  },
  read: async (name: string) => {
    const stored = await (await keysOf(name)).read();
    return { count: countIn(stored?.record), version: stored?.version ?? null };
  },
};

answerCalls(operations, async () => {
  for (const one of opened.values()) await (await one).close?.();
});
