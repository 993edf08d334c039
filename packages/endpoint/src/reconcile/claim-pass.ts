import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, type StateStore, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import type { Depth } from "./depth.ts";
import { type PassState, type Runner, readPassState, storedState } from "./pass-state.ts";

/** The right to make a pass: one process at a time has it for an endpoint. */
export interface PassClaim {
  readonly plan: PassPlan;
  /** Aborts when another process has taken the claim over, with the error to reject with. */
  readonly takenOver: AbortSignal;
  /** The watermark as it will be written, in ms. */
  readonly mark: number;
  /** Moves the watermark. It is written with the next heartbeat, and at the end. */
  advance(markMs: number): void;
  /** Writes the watermark and the changes, and releases the claim. If another process has taken it, rejects and changes nothing. */
  end(changes: Partial<PassState>): Promise<void>;
}

/** The plan of a pass, made from the stored state. */
export interface PassPlan {
  /** The state that is written with the claim, if the pass is not a dry run. */
  readonly initialState: PassState;
  readonly depth: Depth;
}

export interface ClaimOptions {
  readonly state: StateStore;
  readonly name: string;
  /** The name of the pass. */
  readonly run: string;
  /** How long the claim lasts if this process is killed. It is stored with the claim, since other processes may have another lease. */
  readonly leaseMs: number;
  /** Plans the pass. Throws if it must not begin. */
  readonly plan: (stored: PassState | undefined) => PassPlan;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger;
}

const heartbeatsPerLease = 3;
/** How often to look for a heartbeat. They are counted, so that a process that was suspended does not take its own silence for that of the other. */
const looksPerLease = 4 * heartbeatsPerLease;

/**
 * Claims the pass. While a pass is alive, it writes its state several times per lease. If the version stays the same for a whole lease of
 * that pass, by this process's clock, that pass was killed and its claim has ended. Every write is a compare-and-swap on a version that
 * names this pass, so a pass that was taken for dead changes nothing more.
 *
 * Rejects with `reconcile_in_use` when another pass is alive, and with what `plan` throws. If the signal aborts before the claim
 * is free, resolves to a claim that changes nothing, since a pass with an aborted signal stores nothing.
 */
export async function claimPass(options: ClaimOptions): Promise<PassClaim> {
  const { state, name, run, leaseMs, signal } = options;
  while (signal?.aborted !== true) {
    const stored = await state.read(name);
    const known = stored && readPassState(name, stored.value);
    const plan = options.plan(known);
    if (stored && known?.runner) await awaitOtherPass(stored.version, known.runner, options);
    if (signal?.aborted) break;
    const value = storedState({ ...plan.initialState, runner: { run, leaseMs } });
    if (await state.write(name, value, stored?.version)) return heldClaim(plan, options); // false: the state has changed since
  }
  return readOnlyClaim(options);
}

/**
 * Waits until the other pass has ended, the signal aborts, or the state was not written for a lease of that pass, which was then killed. Rejects
 * with `reconcile_in_use` when that pass is alive.
 */
async function awaitOtherPass(
  version: string,
  { leaseMs }: Runner,
  { state, name, signal, logger }: ClaimOptions,
): Promise<void> {
  logger.info(
    { state: name, leaseMs },
    "A pass is under way, or was killed: this pass starts after one lease without a heartbeat.",
  );
  for (let looks = 0; looks < looksPerLease; looks++) {
    await sleep(leaseMs / looksPerLease, undefined, { signal }).catch(() => {}); // it rejects only when the signal aborts
    if (signal?.aborted) return;
    const now = await state.read(name);
    if (now?.version === version) continue;
    if (now === undefined || readPassState(name, now.value).runner === null) return;
    throw new WebhookError<EndpointErrorCode>(
      "reconcile_in_use",
      "Another process is reconciling this endpoint.",
      "Wait until it has ended: it recovers the same events.",
    );
  }
}

/** The claim of a pass that stores nothing. It changes nothing, and other processes do not see it. */
export async function readOnlyClaim(options: ClaimOptions): Promise<PassClaim> {
  const { state, name } = options;
  const stored = await state.read(name);
  const plan = options.plan(stored && readPassState(name, stored.value));
  return {
    plan,
    takenOver: new AbortController().signal,
    mark: plan.initialState.mark,
    advance() {},
    async end() {},
  };
}

function heldClaim(plan: PassPlan, { state, name, run, leaseMs, logger }: ClaimOptions): PassClaim {
  const takenOver = new AbortController();
  let { mark } = plan.initialState;
  let writing: Promise<unknown> = Promise.resolve();
  let timer = setTimeout(beat, leaseMs / heartbeatsPerLease);

  async function write(changes: Partial<PassState>): Promise<void> {
    takenOver.signal.throwIfAborted();
    for (;;) {
      const stored = await state.read(name);
      // a write that rejected may have taken effect: then the state names this pass, too
      if (stored === undefined || readPassState(name, stored.value).runner?.run !== run) throw lose();
      const value = storedState({ ...plan.initialState, runner: { run, leaseMs }, mark, ...changes });
      if (await state.write(name, value, stored.version)) return;
    }
  }

  function lose(): unknown {
    takenOver.abort(
      new WebhookError<EndpointErrorCode>(
        "reconcile_in_use",
        "Another process took this pass for dead, and is reconciling this endpoint now.",
        "Leave it to that process. If this happens often, this process is blocked for longer than leaseMs: raise it.",
      ),
    );
    return takenOver.signal.reason;
  }

  function beat(): void {
    writing = write({})
      .catch((err: unknown) => {
        if (!takenOver.signal.aborted)
          logger.warn({ err, state: name }, "The state of the pass could not be written.");
      })
      .then(() => {
        if (!takenOver.signal.aborted) timer = setTimeout(beat, leaseMs / heartbeatsPerLease);
      });
  }

  return {
    plan,
    takenOver: takenOver.signal,
    get mark() {
      return mark;
    },
    advance(markMs) {
      mark = markMs;
    },
    async end(changes) {
      clearTimeout(timer);
      await writing;
      clearTimeout(timer); // set again by the heartbeat that was being written
      await write({ ...changes, runner: null });
    },
  };
}
