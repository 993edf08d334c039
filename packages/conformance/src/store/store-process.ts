// A process of its own with the store under test, for `storeSuite`: opens the store that a module exports, answers
// calls that come line by line, and ends by itself once the store is closed, if that leaves no handle open.
import { createInterface } from "node:readline";
import type { OpenStore } from "./store-context.ts";

const [module = ""] = process.argv.slice(2);
const RealDate = Date;
let offsetMs = 0;

globalThis.Date = class extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [RealDate.now() + offsetMs] : given) as [number]));
  }
  static override now(): number {
    return RealDate.now() + offsetMs;
  }
} as DateConstructor;

const { default: open } = (await import(module)) as { default: OpenStore };
const store = await open({});

const operations: Record<string, (...args: never[]) => unknown> = {
  claim: store.claim.bind(store),
  extend: store.extend.bind(store),
  complete: store.complete.bind(store),
  release: store.release.bind(store),
  setClockBy(ms: number) {
    offsetMs = ms;
  },
};

const lines = createInterface(process.stdin);
lines.on("line", async (line) => {
  const calls = JSON.parse(line) as [name: string, ...args: never[]][];
  const results = await Promise.all(calls.map(([name, ...args]) => operations[name]?.(...args)));
  process.stdout.write(`${JSON.stringify(results.map((result) => result ?? null))}\n`);
});
lines.on("close", async () => {
  await store.close();
  await store.close();
});
process.stdout.write("[]\n");
