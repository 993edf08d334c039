import { coalesce } from "@esim-webhooks/core/kit";
import type { KeptThread } from "./kept-thread.ts";
import { packCalls, sizeOf } from "./packed-rows.ts";
import { type Answer, type Call, notAsked, notCloned } from "./protocol.ts";
import { uptimeMs } from "./uptime.ts";

/**
 * Calls to a thread: the next ones gather while it does the last, so that those of one message are done together. A call that
 * nobody waits for any more is not sent. `maxItems`: how many calls one message has at most. `maxMessages`: how many are on their way.
 */
export function gatherCalls(
  kept: KeptThread,
  { maxItems, maxMessages }: { readonly maxItems: number; readonly maxMessages: number },
): (call: Call) => Promise<Answer> {
  return coalesce(sendTogether, {
    maxItems,
    maxFlushes: maxMessages,
    maxSize: 8 * 1024 * 1024,
    sizeOf,
  });

  async function sendTogether(waiting: readonly Call[]): Promise<readonly Answer[]> {
    const now = uptimeMs();
    const wanted = waiting.filter(({ untilMs }) => untilMs > now);
    const answers = wanted.length === 0 ? [] : await answersOf(wanted);
    const answerOf = new Map(wanted.map((each, index) => [each, answers[index]]));
    return waiting.map((each) => answerOf.get(each) ?? notAsked);
  }

  /** A call that cannot cross to the thread fails by itself: the others of its message are sent again without it. */
  async function answersOf(waiting: readonly Call[]): Promise<readonly Answer[]> {
    const thread = await kept.get();
    try {
      return await thread.call(packCalls(waiting));
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "DataCloneError")) throw error;
      if (waiting.length === 1) return [{ fault: { ...notCloned, cause: error.message } }];
      return (await Promise.all(waiting.map((each) => answersOf([each])))).flat();
    }
  }
}
