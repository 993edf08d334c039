import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createReceiver,
  type EsimEvents,
  type Handlers,
  idempotencyKeyOf,
  memoryStore,
  nodeDelivery,
  writeReply,
} from "@esim-webhooks/core";

/** The result of an event: the answer to a delivery, or what was done without one. */
export interface Result {
  /** The status of the answer; undefined when it was not a delivery. */
  readonly status?: number | undefined;
  readonly outcome: string;
}

const host = "127.0.0.1";
/** Says nothing: the report of the demo says everything. */
const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A receiver of the demo, which notes the results and what its handler does. */
export function createDemoReceiver() {
  const server = createServer();
  const store = memoryStore();
  const results: Result[] = [];
  const runs: string[] = [];
  const effects: string[] = [];
  const repeats: string[] = [];
  const keys = new Set<string>(); // in a real backend, a unique column
  let mood: "works" | "fails" | "waits" = "works";
  let answered = Promise.withResolvers<void>();

  const handlers: Handlers<EsimEvents> = {
    "*": async (event) => {
      runs.push(event.id);
      if (mood === "waits") await answered.promise;
      if (mood === "fails") throw new Error("the database was unavailable");
      const key = idempotencyKeyOf(event, "note");
      (keys.has(key) ? repeats : effects).push(event.id);
      keys.add(key);
    },
  };

  return {
    handlers,
    store,
    results,
    runs,
    /** The ids under which the handler had its effect. */
    effects,
    /** The ids under which the handler ran for an event that had already taken effect under another id. */
    repeats,
    /** From now on, its handler works, fails, or waits until another delivery was answered. */
    behave(next: typeof mood) {
      mood = next;
      answered = Promise.withResolvers();
    },
    /** Resolves to its URL. Default: on any free port. */
    async listen(port = 0): Promise<string> {
      await new Promise<void>((resolve) => server.listen(port, host, resolve));
      return `http://${host}:${(server.address() as AddressInfo).port}/webhooks`;
    },
    receiveWith(secret: string) {
      const receiver = createReceiver(handlers, { secret, store, logger });
      server.on("request", async (request, response) => {
        const received = await receiver.receive(nodeDelivery(request));
        results.push({ status: received.status, outcome: received.outcome.code });
        answered.resolve();
        writeReply(response, received, receiver.closing);
      });
    },
    /** Nothing listens any more: connections are refused. */
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export type DemoReceiver = ReturnType<typeof createDemoReceiver>;
