import type { Logger } from "../base/logger.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { HandlerContext } from "./handler.ts";

/** What is known about an event when its handler is called. */
export interface ContextFacts {
  readonly source: string;
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replayed: boolean;
  /** Its signal is made only when a handler asks for it; most never do. */
  readonly lease: { readonly signal: AbortSignal };
  readonly tx: unknown;
}

export function handlerContext(
  { id, type }: WebhookEvent,
  { source, attempt, receivedAt, replayed, lease, tx }: ContextFacts,
  logger: Logger,
): HandlerContext {
  return {
    get signal() {
      return lease.signal;
    },
    attempt,
    source,
    receivedAt,
    replayed,
    get logger() {
      return logger.child?.({ id, type, source }) ?? logger;
    },
    tx,
  };
}
