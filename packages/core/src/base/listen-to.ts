import type { Channel } from "node:diagnostics_channel";
import { warnOfCallback } from "./logger.ts";

/** Called with the name of a step and what its listener threw. */
export type ListenerWarning = (name: string, error: unknown) => void;

/**
 * Calls `listener` for each message of a channel. A listener that throws or rejects changes nothing else: its error goes to
 * `warn`. Returns a function that stops listening.
 * @param name of the step, for the warning
 */
export function listenTo<Message>(
  name: string,
  channel: Channel<unknown, Message>,
  listener: (message: Message) => unknown,
  warn: ListenerWarning = warnOnce(),
): () => void {
  const call = async (message: unknown): Promise<void> => {
    try {
      await listener(message as Message);
    } catch (error) {
      warn(name, error);
    }
  };
  channel.subscribe(call);
  return () => void channel.unsubscribe(call);
}

/** Turns the first error into a Node.js process warning, with the code `observer_failed`. */
export function warnOnce(): ListenerWarning {
  let isWarned = false;
  return (name, error) => {
    if (isWarned) return;
    isWarned = true;
    const message = `The observer of "${name}" threw. Catch errors inside the observer.`;
    warnOfCallback("observer_failed", message, error);
  };
}
