import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import { badInput } from "./bad-input.ts";
import type { StartServer, WithServer } from "./server.ts";
import { statusContract } from "./status-contract.ts";

/**
 * Tests an adapter over real HTTP: the whole status contract, and a list of bad input.
 * `receiverSuite("my adapter", startServer, { describe, it })`.
 * @param runner can be omitted if `describe` and `it` are global
 */
export function receiverSuite(name: string, startServer: StartServer, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const withServer: WithServer = async (target, options, use, before = async () => {}) => {
    const server = await startServer(target, options, before);
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
