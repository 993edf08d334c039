// A process of its own with the state store under test, for `stateSuite`.
import { answerCalls } from "../base/answer-calls.ts";
import { countUp, type OpenState, type Padded, padded } from "./state-context.ts";

const [module = ""] = process.argv.slice(2);
const { default: open } = (await import(module)) as { default: OpenState };
const state = await open({});

const operations: Record<string, (...args: never[]) => unknown> = {
  read: state.read.bind(state),
  /** JSON has no undefined: null stands for it. */
  write: (name: string, value: unknown, version: string | null) =>
    state.write(name, value, version ?? undefined),
  async countUp(name: string, times: number) {
    for (let n = 0; n < times; n++) await countUp(state, name);
  },
  /** Writes one value after the other, until it is killed. */
  async writeOn(name: string) {
    for (;;) {
      const stored = await state.read(name);
      const count = (stored?.value as Padded | undefined)?.count ?? 0;
      await state.write(name, padded(count + 1), stored?.version);
    }
  },
};

answerCalls(operations, () => state.close());
