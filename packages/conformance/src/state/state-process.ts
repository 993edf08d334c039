// The child process of `crashSuite`, with the state store under test.
import { answerCalls } from "../base/other-process.ts";
import { countUp, type OpenState, type Padded, padded } from "./state-context.ts";

const [module = ""] = process.argv.slice(2);
const { default: open } = (await import(module)) as { default: OpenState };
const state = await open({});

const operations: Record<string, (...args: never[]) => unknown> = {
  read: state.read.bind(state),
  /** A null version stands for undefined, which JSON does not have. */
  write: (name: string, value: unknown, version: string | null) =>
    state.write(name, value, version ?? undefined),
  async countUp(name: string, times: number) {
    for (let n = 0; n < times; n++) await countUp(state, name);
  },
  /** Writes values until the process is killed. */
  async writeOn(name: string) {
    for (;;) {
      const stored = await state.read(name);
      const count = (stored?.value as Padded | undefined)?.count ?? 0;
      await state.write(name, padded(count + 1), stored?.version);
    }
  },
};

answerCalls(operations, () => state.close());
