import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import { badInput } from "./bad-input.ts";
import type { StartServer, WithServer } from "./server.ts";
import { statusContract } from "./status-contract.ts";

/**
 * The whole status contract and the list of bad input, over real HTTP, for any adapter:
 * `receiverSuite("my adapter", startServer, { describe, it })`.
 * @param runner may be left out where `describe` and `it` are global
 */
export function receiverSuite(name: string, startServer: StartServer, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const withServer: WithServer = async (target, options, use) => {
    const server = await startServer(target, options);
    try {
      return await use(server);
    } finally {
      await server.close();
    }
  };
  describe(`${name}: the status contract`, () => {
    for (const [sentence, run] of statusContract) it(sentence, () => run(withServer));
  });
  describe(`${name}: bad input`, () => {
    for (const [sentence, run] of badInput) it(sentence, () => run(withServer));
  });
}
