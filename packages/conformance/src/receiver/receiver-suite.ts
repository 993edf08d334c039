import type { OutcomeCode } from "@esim-webhooks/core";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import { acceptedEvents } from "./accepted-events.ts";
import { badBodies } from "./bad-bodies.ts";
import { concurrentClients, leavingClients } from "./bad-connections.ts";
import { badHeaders } from "./bad-headers.ts";
import { manyEndpoints, unknownEndpoint } from "./many-endpoints.ts";
import { retriedEvents } from "./retried-events.ts";
import { recordingLogger, type ScenarioByOutcome, type StartServer, type WithServer } from "./scenario.ts";
import { unreadBodies } from "./unread-bodies.ts";
import { unverifiedDeliveries } from "./unverified-deliveries.ts";

/** Outcomes that no test can provoke over HTTP on every adapter: for example, only `webhookHandler` can be made without a secret. */
type Elsewhere = Extract<OutcomeCode, "body_consumed" | "missing_secret">;

// a new outcome code does not compile until it has a test in one of these
const statusContract: Omit<ScenarioByOutcome, Elsewhere> = {
  ...acceptedEvents,
  ...retriedEvents,
  ...unverifiedDeliveries,
  ...unreadBodies,
  ...unknownEndpoint,
};

/** The platform's handling of requests. */
export interface ReceiverSuiteOptions {
  /** `"whole"`: the platform passes a request on once it has its body, as API Gateway does, so no test sends a part of one. Default `"streamed"`. */
  readonly bodies?: "streamed" | "whole";
}

/**
 * Tests an adapter over real HTTP: the whole status contract, and a list of bad input.
 * `receiverSuite("my adapter", startServer, { describe, it })`.
 * @param name the name of the adapter, for the names of the tests
 * @param startServer starts the adapter on a port of its own
 * @param runner can be omitted if `describe` and `it` are global
 * @param options how the platform handles requests
 */
export function receiverSuite(
  name: string,
  startServer: StartServer,
  runner?: Runner,
  options: ReceiverSuiteOptions = {},
): void {
  const { bodies = "streamed" } = options;
  const { describe, it } = runnerOrGlobal(runner);
  const withServer: WithServer = async (target, options, use, before = async () => {}) => {
    const { logger } = recordingLogger(); // without one, each refusal would be a warning of the process
    const server = await startServer(target, { logger, ...options }, before);
    try {
      return await use(server);
    } finally {
      await server.close();
    }
  };
  const { overloaded, body_incomplete, ...others } = statusContract;
  const ofParts = bodies === "whole" ? [] : [overloaded, body_incomplete];
  const connections = bodies === "whole" ? concurrentClients : [...leavingClients, ...concurrentClients];
  describe(`${name}: the status contract`, () => {
    for (const [sentence, run] of [...Object.values(others), ...ofParts]) it(sentence, () => run(withServer));
  });
  describe(`${name}: many endpoints`, () => {
    for (const [sentence, run] of manyEndpoints) it(sentence, () => run(withServer));
  });
  describe(`${name}: bad input`, () => {
    for (const [sentence, run] of [...badHeaders, ...badBodies, ...connections])
      it(sentence, () => run(withServer));
  });
}
