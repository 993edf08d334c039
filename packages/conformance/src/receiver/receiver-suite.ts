import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import { badBodies } from "./bad-bodies.ts";
import { badConnections } from "./bad-connections.ts";
import { badHeaders } from "./bad-headers.ts";
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
    for (const [sentence, run] of [...badHeaders, ...badBodies, ...badConnections])
      it(sentence, () => run(withServer));
  });
}
