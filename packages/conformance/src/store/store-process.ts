// A process of its own with the store under test, for `storeSuite`: opens the store that a module exports, answers
// calls that come line by line, and ends by itself once the store is closed, if that leaves no handle open.
import { answerCalls } from "../base/answer-calls.ts";
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

answerCalls(operations, () => store.close());
