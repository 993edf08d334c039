import type { KeyRecord, KeyStore, Logger } from "@esim-webhooks/core";
import type { WaitingClock } from "../base/waiting-clock.ts";
import { type KeyStoreState, readKeysAgain, writeRecord, writeSecret } from "./write-record.ts";

/** How far a change of the keys is: the `change` of a key record, so that the next process can continue. Plain JSON. */
export interface RecordedStep {
  readonly kind: string;
  readonly step: string;
}

/** The keys of a record, without the step. */
export type KeysOf = Pick<KeyRecord, "keys" | "rotatingUntil">;

interface AnyMove<Result> {
  /** The step that is recorded next; undefined: none, the change has ended. */
  readonly nextStep: RecordedStep | undefined;
  /** Returns the keys to record with that step. `now` is the record as it is then: another program may have written keys. */
  readonly keys: (now: KeyRecord) => KeysOf;
  /** Present if the keys have a secret of which there may be no other copy. `isFinishedElsewhere` is that of `SecretWrite`. */
  readonly secret?: { readonly isFinishedElsewhere: (now: KeyRecord) => boolean };
  /** Records the move only if the key store was not written since the step was read: otherwise what the step has found out may be outdated. */
  readonly ifUnwritten?: true;
  /** Whether a record at another step shows that another process has made the same move. */
  readonly isMade?: (now: KeyRecord) => boolean;
  /** Called once the move is recorded, by this process or another one. The run ends if this function throws or returns a result. */
  readonly whenWritten?: (written: KeyRecord) => { readonly result: Result } | undefined;
}

/** The result of a step. `Next` names the steps that can be next; `end`: the change has ended. */
export interface Move<Next extends string, Result = never> extends AnyMove<Result> {
  readonly nextStep: Next extends "end" ? undefined : RecordedStep & { readonly step: Next };
}

/** The outcome of a step: a move to record; or the result of the run, with nothing to record; or undefined: the step is to be taken again. */
export type Outcome<Next extends string, Result = never> =
  | Move<Next, Result>
  | { readonly result: Result }
  | undefined;

/** A step, as a table of steps has it. */
export interface Step<Run, At, Result> {
  /** Does what the step is for. After a kill, the next run takes the same step. */
  take(
    run: Run,
    at: At,
    stored: KeyStoreState,
  ): Promise<AnyMove<Result> | { readonly result: Result } | undefined>;
  /** The steps that can be next, and when each of them is. docs/design/endpoint.md draws them. */
  readonly next: Readonly<Record<string, string>>;
}

/** An entry of a table of steps. `next` has each step that `take` can lead to, and no other: else it does not compile. */
export function step<Run, At, Next extends string, Result>(
  take: (run: Run, at: At, stored: KeyStoreState) => Promise<Outcome<Next, Result>>,
  next: Readonly<Record<NoInfer<Next>, string>>,
): Step<Run, At, Result> {
  return { take, next };
}

/** A change of the keys: the table of its steps. */
export interface KeyChange<Run, At extends RecordedStep, Result> {
  /** The step of this change that the key store has; undefined: none. Throws if the run cannot continue from what the key store has. */
  find(run: Run, stored: KeyStoreState): At | undefined;
  /** The steps by name, and `none`: what to do when the key store has none of them. */
  readonly steps: {
    readonly [Name in At["step"] | "none"]: Step<
      Run,
      Name extends "none" ? undefined : Extract<At, { readonly step: Name }>,
      Result
    >;
  };
  /** Called when another process has moved the change on. Unless this function throws, the run continues from what the key store has then. */
  whenMovedOn?(run: Run, stored: KeyStoreState): void;
}

/** The parts of a run that the driver needs. */
export interface RunParts {
  readonly clock: WaitingClock;
  readonly logger: Logger;
}

/**
 * Takes the steps of a change until one has a result, beginning with the step that the key store had when it was read. Each step except
 * `none` is recorded by compare-and-swap before it is taken. The next run after a kill continues from the recorded step; so does a run that
 * another process has overtaken, unless `whenMovedOn` throws.
 */
export async function advance<Run extends RunParts, At extends RecordedStep, Result>(
  keyStore: KeyStore,
  table: KeyChange<Run, At, Result>,
  run: Run,
  read: KeyStoreState,
): Promise<Result> {
  for (let stored = read; ; stored = await readKeysAgain(keyStore, run.clock)) {
    const at = table.find(run, stored);
    const name: At["step"] | "none" = at?.step ?? "none";
    const { take } = table.steps[name] as Step<Run, At | undefined, Result>;
    const outcome = await take(run, at, stored);
    if (outcome === undefined) continue;
    if ("result" in outcome) return outcome.result;
    let written = await recordMove(keyStore, stored, outcome, run);
    if (written === undefined) {
      const now = await readKeysAgain(keyStore, run.clock);
      if (outcome.isMade?.(now.record)) written = now.record;
      else {
        table.whenMovedOn?.(run, now);
        continue;
      }
    }
    const ended = outcome.whenWritten?.(written);
    if (ended !== undefined) return ended.result;
  }
}

/** Records a move. Resolves to undefined if the key store is no longer at the step or, with `ifUnwritten`, was written since. */
async function recordMove<Result>(
  keyStore: KeyStore,
  { record, version }: KeyStoreState,
  { nextStep, keys, secret, ifUnwritten }: AnyMove<Result>,
  run: RunParts,
): Promise<KeyRecord | undefined> {
  const at = record.change;
  const next = (now: KeyRecord): KeyRecord => ({
    ...keys(now),
    ...(nextStep && { change: { ...nextStep } }),
  });
  if (secret !== undefined) return writeSecret(keyStore, { at, next, ...secret }, run);
  if (!ifUnwritten) return writeRecord(keyStore, at, next, run.clock);
  const wanted = next(record);
  return (await keyStore.write(wanted, version)) ? wanted : undefined;
}
