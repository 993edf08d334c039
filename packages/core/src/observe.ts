import type { Channel } from "node:diagnostics_channel";
import * as z from "zod/mini";
import { type OptionsShape, parseOptions } from "./base/options.ts";
import { listenTo, warnOnce } from "./base/trace.ts";
import { type DriftMessage, driftNotice } from "./drift/finding.ts";
import { type SettleMessage, settleNotice } from "./handle/settled.ts";
import {
  type HandleMessage,
  handleStage,
  type ProcessMessage,
  processStage,
  type SettlementsMessage,
  settlementsStage,
  type TakeMessage,
  takeStage,
} from "./handle/stages.ts";
import {
  type ClaimMessage,
  type CompleteMessage,
  claimStage,
  completeStage,
  type ExtendMessage,
  extendStage,
  type StoreCallMessage,
} from "./process/traced-store.ts";
import { type ReceiveMessage, receiveStage } from "./receive/receive-stage.ts";
import { type VerifyMessage, verifyStage } from "./receive/verifier.ts";
import { type ChangeMessage, changeNotice } from "./store/admin-notices.ts";
import { type PutMessage, putStage } from "./store/inbox.ts";

export type { StageMessage } from "./base/trace.ts";
export type { StageSpan, Tracer, TraceSource } from "./base/tracer.ts";
export { setTracer, setTraceSource } from "./base/tracer.ts";
export type { FailureReason } from "./store/history.ts";
export type {
  ChangeMessage,
  ClaimMessage,
  CompleteMessage,
  DriftMessage,
  ExtendMessage,
  HandleMessage,
  ProcessMessage,
  PutMessage,
  ReceiveMessage,
  SettleMessage,
  SettlementsMessage,
  StoreCallMessage,
  TakeMessage,
  VerifyMessage,
};

/** A function for each step that can be watched. It is called when such a step has ended, even if the step failed: see the `outcome` of its message. */
export interface Observer {
  /** A delivery was received, and its answer is known. */
  receive?(message: ReceiveMessage): void;
  /** A receiver asked whether a key matches a signature. */
  verify?(message: VerifyMessage): void;
  /** A receiver or an import asked an inbox to store events. */
  put?(message: PutMessage): void;
  /** A worker asked its inbox for events. */
  take?(message: TakeMessage): void;
  /** A worker asked its inbox to store results. */
  settlements?(message: SettlementsMessage): void;
  /** A processor was asked to handle an event: by a receiver, an import, or your own queue. */
  process?(message: ProcessMessage): void;
  /** A processor asked its dedupe store to claim an id. */
  claim?(message: ClaimMessage): void;
  /** A processor asked its dedupe store to renew a claim. */
  extend?(message: ExtendMessage): void;
  /** A processor asked its dedupe store to mark an id as done. Not called if the commit of the handler's `context.tx` has marked it. */
  complete?(message: CompleteMessage): void;
  /** A handler ran. */
  handle?(message: HandleMessage): void;
  /** A lease or a claim on an event ended, or will end by itself. */
  settle?(message: SettleMessage): void;
  /** An operator called a function that changes an inbox, or a purge deleted events. */
  change?(message: ChangeMessage): void;
  /** Events have begun to differ from the catalog, or from earlier events: a `watchDrift` has found the difference. */
  drift?(message: DriftMessage): void;
}

const channels: { readonly [Name in keyof Observer]-?: Channel } = {
  receive: receiveStage.ended,
  verify: verifyStage.ended,
  put: putStage.ended,
  take: takeStage.ended,
  settlements: settlementsStage.ended,
  process: processStage.ended,
  claim: claimStage.ended,
  extend: extendStage.ended,
  complete: completeStage.ended,
  handle: handleStage.ended,
  settle: settleNotice,
  change: changeNotice,
  drift: driftNotice,
};

const callback = z.optional(
  z.custom<(message: never) => void>((value) => typeof value === "function", "expected a function"),
);

const shape = Object.fromEntries(
  Object.keys(channels).map((name) => [name, callback]),
) as unknown as OptionsShape<Observer>;

/**
 * Watches all deliveries and events in this process: those of every receiver, worker, processor and import. Messages hold
 * ids, types, outcomes, durations in ms and error objects; never a payload, a body, a header or a secret. An observer that
 * throws or rejects changes nothing else: the first such error becomes a Node.js process warning. To watch the progress of
 * imports, use `observeImports` of `@esim-webhooks/import`.
 *
 * Tools that follow the async context can subscribe to the channels of `node:diagnostics_channel` instead: the tracing
 * channels `esim-webhooks:receive`, `verify`, `put`, `take`, `settlements`, `process`, `claim`, `extend`, `complete` and `handle`, and the plain channels `esim-webhooks:settle`, `change` and `drift`. At
 * `start`, a message has only the fields that are known by then. Node.js ends the process when a subscriber of a channel throws.
 *
 * Throws `invalid_option` for a function under an unknown name, and for a value under a known name that is not a function. Ignores all other fields.
 * Returns a function that stops watching.
 */
export function observe(observer: Observer): () => void {
  parseOptions("observe", shape, withoutState(observer));
  const warn = warnOnce();
  const stops = Object.entries(channels).flatMap(([name, channel]) => {
    const listener = observer[name as keyof Observer] as ((message: unknown) => unknown) | undefined;
    return listener ? [listenTo(name, channel, listener.bind(observer), warn)] : [];
  });
  return () => {
    for (const stop of stops) stop();
  };
}

/** Returns an observer without the fields that cannot be a misspelt step, such as the counters of a class. */
function withoutState(observer: unknown): unknown {
  if (typeof observer !== "object" || observer === null) return observer;
  return Object.fromEntries(
    Object.entries(observer).filter(([name, value]) => name in channels || typeof value === "function"),
  );
}
