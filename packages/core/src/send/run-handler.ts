import { randomUUID } from "node:crypto";
import type { Catalog } from "../event/catalog.ts";
import type { EsimEvents } from "../event/esim-events.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import type { Handlers } from "../handle/handler.ts";
import { memoryStore } from "../memory/memory-store.ts";
import { createProcessor } from "../process/processor.ts";
import type { DedupeStore } from "../store/dedupe-store.ts";
import type { EventToSend } from "./signed-request.ts";

/** Options of `runHandler`. */
export interface RunHandlerOptions<Data = EsimEvents, Tx = unknown> {
  /** The attempt, from 1, as the handler sees it. Default 1. */
  readonly attempt?: number;
  /** The `context.tx` of the handler. It is neither committed nor rolled back: the test does that. Default: undefined. */
  readonly tx?: Tx;
  /** The event types and their schemas. Default: the eSIM events. */
  readonly catalog?: Catalog<Data>;
}

/**
 * Runs the handler of one event, for tests, and resolves to its outcome: `processed`, `discarded` with its reason, `retry_later` with its
 * pause, or `failed` with what was thrown; also `invalid`, `unhandled_type` and `unknown_type`. No event makes it reject. Rejects
 * with `unknown_event_type` or `invalid_option` for handlers that no receiver accepts.
 */
export async function runHandler<Data = EsimEvents, Tx = unknown>(
  handlers: NoInfer<Handlers<Data, Tx>>,
  event: EventToSend,
  { attempt = 1, tx, catalog }: RunHandlerOptions<Data, Tx> = {},
): Promise<EventOutcome> {
  const processor = createProcessor<Data, Tx>(handlers, {
    store: storeWith(tx as Tx),
    ...(catalog && { catalog }),
  });
  const { id = `msg_${randomUUID()}`, type, timestamp = new Date().toISOString(), data } = event;
  return processor.process({ id, type, timestamp, data }, { attempt });
}

/** Creates a store for one event, whose every transaction is `tx`. */
function storeWith<Tx>(tx: Tx): DedupeStore<Tx> {
  const store = memoryStore();
  return {
    ...store,
    async transact(key, token, work) {
      if (!(await work(tx))) return "rolled_back";
      await store.complete(key, token);
      return "committed";
    },
  };
}
