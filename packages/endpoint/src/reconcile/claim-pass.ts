import { setTimeout as pause } from "node:timers/promises";
import { type Logger, type StateStore, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import { type PassState, readPassState } from "./pass-state.ts";

/** The place of the one pass that may be under way for an endpoint. */
export interface PassClaim {
  /** The state when the pass began. */
  readonly begun: PassState;
  /** Aborts when another process has taken the place, with the error to reject with. */
  readonly lost: AbortSignal;
  /** The watermark as it will be written. */
  readonly mark: string;
  /** Moves the watermark. It is written with the next sign of life, and in the end. */
  advance(mark: string): void;
  /** Writes the changes at once. Rejects if another process has taken the place. */
  note(changes: Partial<PassState>): Promise<void>;
  /** Writes the watermark and the changes, and gives the place up. If another process has taken it, rejects and changes nothing. */
  end(changes: Partial<PassState>): Promise<void>;
}

export interface ClaimOptions {
  readonly state: StateStore;
  readonly name: string;
  /** The name of the pass. */
  readonly run: string;
  /** How long a killed process holds the place. */
  readonly leaseMs: number;
  /** The state to begin with. Throws if the pass must not begin. */
  readonly begin: (stored: PassState | undefined) => PassState;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger;
}

const signsPerLease = 3;

/**
 * Takes the place. While a pass lives, it writes its state several times per lease; if the version stays the same for a whole
 * lease, by this process's clock, that pass was killed and the place is free. Every write is a compare-and-swap on a version
 * that names this pass, so a pass that was taken for dead changes nothing more.
 *
 * Rejects with `reconcile_in_use` when another pass lives, and with what `begin` throws. If the signal aborts before the place
 * is free, resolves to a claim that changes nothing: a pass with an aborted signal hands nothing over.
 */
export async function claimPass(options: ClaimOptions): Promise<PassClaim> {
  const { state, name, run, begin, signal } = options;
  while (signal?.aborted !== true) {
    const stored = await state.read(name);
    const known = stored && readPassState(name, stored.value);
    const begun = begin(known);
    if (stored !== undefined && known?.runner && (await isAlive(stored.version, options))) continue;
    if (await state.write(name, { ...begun, runner: run }, stored?.version)) return held(begun, options);
  }
  return readOnlyClaim(options);
}

/** Waits until a lease has passed. Resolves to true when the pass ended meanwhile, or the signal aborted; rejects when it lives. */
async function isAlive(
  version: string,
  { state, name, leaseMs, signal, logger }: ClaimOptions,
): Promise<boolean> {
  logger.info(
    { state: name, leaseMs },
    "A pass is under way, or was killed: this one begins when there was no sign of life for a whole lease.",
  );
  const endsAt = performance.now() + leaseMs;
  while (performance.now() < endsAt) {
    await pause(leaseMs / (4 * signsPerLease), undefined, { signal }).catch(() => {}); // it rejects only when the signal aborts
    if (signal?.aborted) return true;
    const now = await state.read(name);
    if (now?.version === version) continue;
    if (now === undefined || readPassState(name, now.value).runner === null) return true;
    throw new WebhookError<EndpointErrorCode>(
      "reconcile_in_use",
      "Another process is reconciling this endpoint.",
      "Wait until it has ended: what it finds is brought in all the same.",
    );
  }
  return false;
}

/** The claim of a pass that hands nothing over. It neither takes the place nor changes anything. */
export async function readOnlyClaim({ state, name, begin }: ClaimOptions): Promise<PassClaim> {
  const stored = await state.read(name);
  const begun = begin(stored && readPassState(name, stored.value));
  return {
    begun,
    lost: new AbortController().signal,
    mark: begun.mark,
    advance() {},
    async note() {},
    async end() {},
  };
}

function held(begun: PassState, { state, name, run, leaseMs, logger }: ClaimOptions): PassClaim {
  const losing = new AbortController();
  let mark = begun.mark;
  let noted: Partial<PassState> = {};
  let writing: Promise<unknown> = Promise.resolve();
  let timer = setTimeout(signOfLife, leaseMs / signsPerLease);

  async function write(changes: Partial<PassState>): Promise<void> {
    losing.signal.throwIfAborted();
    for (;;) {
      const stored = await state.read(name);
      // a write that rejected may have taken effect: it is this pass that the state names then, too
      if (stored === undefined || readPassState(name, stored.value).runner !== run) throw lose();
      if (await state.write(name, { ...begun, ...noted, runner: run, mark, ...changes }, stored.version))
        return;
    }
  }

  function lose(): unknown {
    losing.abort(
      new WebhookError<EndpointErrorCode>(
        "reconcile_in_use",
        "Another process took this pass for dead, and is reconciling this endpoint now.",
        "Leave it to that one. If it happens often, this process is blocked for longer than leaseMs: raise it.",
      ),
    );
    return losing.signal.reason;
  }

  function signOfLife(): void {
    writing = write({})
      .catch((err: unknown) => {
        if (!losing.signal.aborted)
          logger.warn({ err, state: name }, "The state of the pass could not be written.");
      })
      .then(() => {
        if (!losing.signal.aborted) timer = setTimeout(signOfLife, leaseMs / signsPerLease);
      });
  }

  return {
    begun,
    lost: losing.signal,
    get mark() {
      return mark;
    },
    advance(to) {
      mark = to;
    },
    async note(changes) {
      noted = { ...noted, ...changes };
      await write({});
    },
    async end(changes) {
      clearTimeout(timer);
      await writing;
      clearTimeout(timer);
      await write({ ...changes, runner: null });
    },
  };
}
