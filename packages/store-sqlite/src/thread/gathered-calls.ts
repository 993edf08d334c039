import { coalesce } from "@esim-webhooks/core/kit";
import type { KeptThread } from "./kept-thread.ts";
import { packCalls, sizeOf } from "./packed-rows.ts";
import { type Answer, type Call, notAsked, notCloned } from "./protocol.ts";

/** A call that waits for the next message to its thread. */
interface Waiting {
  readonly call: Pick<Call, "name" | "input">;
  /** When its caller gives up, by `performance.now()`. */
  readonly until: number;
}

/**
 * Calls to a thread: the next ones gather while it does the last, so that those of one message are done together. A call that
 * nobody waits for any more is not sent. `maxItems`: how many calls one message has at most. `maxMessages`: how many are on their way.
 */
export function gatherCalls(
  kept: KeptThread,
  { maxItems, maxMessages }: { readonly maxItems: number; readonly maxMessages: number },
): (call: Waiting["call"], timeoutMs: number) => Promise<Answer> {
  const send = coalesce(sendTogether, {
    maxItems,
    maxFlushes: maxMessages,
    maxSize: 8 * 1024 * 1024,
    sizeOf: ({ call }: Waiting) => sizeOf(call),
  });

  async function sendTogether(waiting: readonly Waiting[]): Promise<readonly Answer[]> {
    const now = performance.now();
    const wanted = waiting.filter(({ until }) => until > now);
    const answers = wanted.length === 0 ? [] : await answersOf(wanted);
    const answerOf = new Map(wanted.map((each, index) => [each, answers[index]]));
    return waiting.map((each) => answerOf.get(each) ?? notAsked);
  }

  /** A call that cannot cross to the thread fails by itself: the others of its message are sent again without it. */
  async function answersOf(waiting: readonly Waiting[]): Promise<readonly Answer[]> {
    const thread = await kept.get();
    const now = performance.now();
    const timed = waiting.map(({ call, until }) => ({ ...call, leftMs: until - now }));
    try {
      return await thread.call(packCalls(timed));
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "DataCloneError")) throw error;
      if (waiting.length === 1) return [{ fault: { ...notCloned, cause: error.message } }];
      return (await Promise.all(waiting.map((each) => answersOf([each])))).flat();
    }
  }

  return (call, timeoutMs) => send({ call, until: performance.now() + timeoutMs });
}
