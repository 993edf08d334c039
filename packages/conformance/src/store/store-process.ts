// The child process of `storeSuite`: opens the store under test, answers calls line by line, and ends once the store is
// closed, unless that leaves a handle open.
import { answerCalls } from "../base/other-process.ts";
import type { OpenStore } from "./store-context.ts";

const [module = ""] = process.argv.slice(2);
const RealDate = Date;
let offsetMs = 0;

globalThis.Date = class extends RealDate {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [RealDate.now() + offsetMs] : args) as [number]));
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

answerCalls(operations, () => store.close());
