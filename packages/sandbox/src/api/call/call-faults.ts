import { setTimeout as wait } from "node:timers/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Faults } from "../../base/faults.ts";
import type { Service } from "../../base/service.ts";
import type { Sender } from "../../sender/sender.ts";
import type { CallContext, Middleware } from "./environment.ts";
import { errorAnswer, HttpRefusal } from "./error-answer.ts";

/** Chooses the fault that strikes the call, and applies it to the answer. `refused` returns the refusal of a call above the rate limit. */
export function answerStruck(
  service: Service,
  faults: Faults,
  call: string,
  refused: (context: CallContext) => HttpRefusal,
): Middleware {
  return async (context, next) => {
    const fault = faults.onCall(call);
    if (fault?.kind === "rate_limit") throw refused(context);
    context.set("fault", fault);
    await next();
    if (fault?.kind === "error") {
      context.res = undefined;
      context.res = errorAnswer(failure(fault.status), context.get("statedProblems"), service.switches);
    }
    if (fault?.kind === "slow_answer") context.res = slowly(context.res, fault.bytesPerSecond);
    if (fault?.kind === "drop_answer") {
      context.env.outgoing.destroy();
      context.res = alreadySent();
    }
  };
}

/** Applies the call's fault to its effect. Runs while the idempotency key is in use: a call that hangs keeps the key in flight. */
export function effectStruck(sender: Pick<Sender, "watchNewDeliveries">): Middleware {
  return async (context, next) => {
    const fault = context.get("fault");
    if (fault?.kind === "error" && !fault.done) throw failure(fault.status);
    if (fault?.kind === "hang") {
      await connectionClosed(context);
      return alreadySent();
    }
    const answered = fault?.kind === "early_events" ? sender.watchNewDeliveries() : undefined;
    await next();
    await answered?.();
    return undefined;
  };
}

/** Returns a new response for each call, since the outer middlewares may set headers on it. */
function alreadySent(): Response {
  return new Response(null, RESPONSE_ALREADY_SENT);
}

function failure(status: number): HttpRefusal {
  return new HttpRefusal(
    status,
    "A fault of the sandbox has struck this call. DELETE /faults of its control side ends it.",
  );
}

async function connectionClosed({ env }: CallContext): Promise<void> {
  if (env.outgoing.destroyed) return;
  await new Promise((resolve) => env.outgoing.once("close", resolve));
}

/** Sends the answer slowly, in real time: a piece about every 10 ms, or byte by byte if a byte takes longer. */
function slowly(answer: Response, bytesPerSecond: number): Response {
  const pieceSize = Math.max(1, Math.floor(bytesPerSecond / 100));
  async function* pieces() {
    const bytes = new Uint8Array(await answer.arrayBuffer());
    for (let at = 0; at < bytes.length; at += pieceSize) {
      await wait((pieceSize / bytesPerSecond) * 1000);
      yield bytes.subarray(at, at + pieceSize);
    }
  }
  return new Response(ReadableStream.from(pieces()), answer);
}
