// The steps of a rotation of the signing secret as data (docs/rotation.md), and a search over every order of them with deliveries that
// are under way, two processes that rotate, kills, lost answers and calls that fail.
import { Broken, type Emit, type Explored, explore } from "./explore.ts";

/** The content of the key store at each step of a rotation, once the step is written. */
export const rotationSteps = {
  call: { holdsOff: true, keys: "old", recordsChange: true },
  stored: { holdsOff: true, keys: "both", recordsChange: true },
  finished: { holdsOff: false, keys: "new", recordsChange: false },
} as const satisfies Readonly<
  Record<string, { holdsOff: boolean; keys: "old" | "both" | "new"; recordsChange: boolean }>
>;

/** The rules that a rotation follows before it takes the next step. */
export const rotationRules = {
  recordFirst: "the key store has the step before the service is called",
  renewHoldOff: "receivers hold unknown signatures off while the service is called, in a later run as well",
  overlap:
    "the old key ends only after the attempts that were under way when the new one was stored have arrived",
  holdUntilArrived:
    "unknown signatures are held off until the attempts under way have arrived, after the new key is stored as well",
  reconcileLast:
    "the deliveries are reconciled after the old key has ended, and before the rotation is finished",
  compareAndSwap: "a process changes the key store only if no other has changed it meanwhile",
} as const;
export type RotationRule = keyof typeof rotationRules;

export interface RotationBounds {
  readonly name: string;
  readonly deliveries: number;
  readonly runners: number;
  readonly kills: number;
  /** Calls of the service that fail or whose answer is lost. */
  readonly failures: number;
}

/** A secret, by number: 0 is the old one. −1: none. */
type Secret = number;

interface Delivery {
  /** `refused`: 401, or held off at its last attempt. The sender does not try again, and the service lists it. */
  readonly state: "due" | "under way" | "accepted" | "refused" | "recovered";
  /** The secret that signed its last attempt. */
  readonly secret: Secret;
}

interface KeyStore {
  readonly keys: readonly Secret[];
  /** The old key that has an end, and has not ended yet; −1 for none. */
  readonly ending: Secret;
  readonly holdsOff: boolean;
  readonly step: "none" | "call" | "stored";
  /** The idempotency key of the recorded call, by number. */
  readonly call: number;
}

interface Runner {
  readonly at: "idle" | "begins" | "calls" | "has secret" | "finishes";
  readonly secret: Secret;
  /** The key store as this process has read or written it last. */
  readonly read: KeyStore;
  /** Whether it still is like that. */
  readonly isFresh: boolean;
  readonly hasReconciled: boolean;
}

interface System {
  readonly deliveries: readonly Delivery[];
  readonly store: KeyStore;
  readonly runners: readonly Runner[];
  /** The secret that the service signs with now. */
  readonly current: Secret;
  /** The secret that each idempotency key has made, by number. */
  readonly made: readonly Secret[];
  readonly kills: number;
  readonly failures: number;
  readonly hasBegun: boolean;
}

const firstStore: KeyStore = { keys: [0], ending: -1, holdsOff: false, step: "none", call: -1 };
const idle: Runner = { at: "idle", secret: -1, read: firstStore, isFresh: false, hasReconciled: false };

/** Explores every order of the steps. `without` are the rules that are not followed. */
export function searchRotation(bounds: RotationBounds, without: readonly RotationRule[] = []): Explored {
  const follows = (rule: RotationRule) => !without.includes(rule);

  function successors(system: System, emit: Emit<System>): void {
    send(system, emit);
    pass(system, emit);
    for (const index of system.runners.keys()) run(system, index, emit);
  }

  function send(system: System, emit: Emit<System>): void {
    const { store, current } = system;
    for (const [index, delivery] of system.deliveries.entries()) {
      const name = `Delivery ${index + 1}`;
      const become = (changes: Partial<Delivery>): System => ({
        ...system,
        deliveries: system.deliveries.map((other, at) => (at === index ? { ...other, ...changes } : other)),
      });
      if (delivery.state === "due") {
        emit(
          `${name} is sent, signed with ${secretName(current)}.`,
          become({ state: "under way", secret: current }),
        );
      } else if (delivery.state === "under way") {
        if (store.keys.includes(delivery.secret))
          emit(`${name} arrives and is accepted.`, become({ state: "accepted" }));
        else if (store.holdsOff) {
          emit(`${name} arrives and is held off.`, become({ state: "due", secret: -1 }));
          emit(`${name} arrives and is held off at its last attempt.`, become({ state: "refused" }));
        } else {
          if (system.runners.some(({ at }) => at === "has secret" || at === "finishes"))
            throw new Broken(
              `delivery ${index + 1} is refused while a rotation that has called the service is under way`,
            );
          emit(`${name} arrives and is refused.`, become({ state: "refused" }));
        }
      }
    }
  }

  /** Time passes. An attempt takes less than the overlap, and less than the hold-off after the new key was stored. */
  function pass(system: System, emit: Emit<System>): void {
    const { store, deliveries, current, runners } = system;
    const hasOldUnderWay = deliveries.some(
      ({ state, secret }) => state === "under way" && secret !== current,
    );
    if (store.ending >= 0 && !(follows("overlap") && hasOldUnderWay))
      emit("The old key ends.", {
        ...system,
        store: { ...store, ending: -1, keys: store.keys.filter((key) => key !== store.ending) },
      });
    const isAtWork = runners.some(({ at }) => at !== "idle" && at !== "finishes"); // a call takes less than a hold-off
    if (store.holdsOff && !isAtWork && !hasOldUnderWay)
      emit("The hold-off ends.", { ...system, store: { ...store, holdsOff: false } });
  }

  function run(system: System, index: number, emit: Emit<System>): void {
    const runner = system.runners[index] ?? idle;
    const { store } = system;
    const name = `Process ${"AB"[index]}`;
    const become = (next: System, changes: Partial<Runner>): System => ({
      ...next,
      runners: next.runners.map((other, at) => (at === index ? { ...other, ...changes } : other)),
    });
    /** Writes the key store, unless another process has since this one has read it: then it reads again. */
    const write = (
      step: string,
      changes: Partial<KeyStore>,
      after: Partial<Runner>,
      more: Partial<System> = {},
    ): void => {
      if (follows("compareAndSwap") && !runner.isFresh) {
        emit(`${name} finds that the key store has changed, and begins again.`, become(system, idle));
        return;
      }
      const next = { ...system, ...more, store: { ...runner.read, ...changes } };
      const runners = next.runners.map((other) => ({ ...other, isFresh: false }));
      emit(`${name} ${step}.`, become({ ...next, runners }, { ...after, read: next.store, isFresh: true }));
    };
    if (runner.at !== "idle" && system.kills > 0)
      emit(`${name} is killed.`, become({ ...system, kills: system.kills - 1 }, idle));
    switch (runner.at) {
      case "idle": {
        const at = { none: "begins", call: "calls", stored: "finishes" } as const;
        if (store.step === "none" && system.hasBegun) return;
        emit(
          `${name} reads the key store.`,
          become(system, { ...idle, at: at[store.step], read: store, isFresh: true }),
        );
        return;
      }
      case "begins":
        write(
          "records that the service is to be called, and has unknown signatures held off",
          { holdsOff: true, step: follows("recordFirst") ? "call" : "none", call: system.made.length },
          { at: "calls" },
          { hasBegun: true, made: [...system.made, -1] },
        );
        return;
      case "calls": {
        if (!runner.read.holdsOff && follows("renewHoldOff")) {
          write("has unknown signatures held off again", { holdsOff: true }, {});
          return;
        }
        const { call } = runner.read;
        const made = system.made[call] ?? -1;
        const secret = made >= 0 ? made : 1 + Math.max(system.current, ...system.made);
        const called: System =
          made >= 0
            ? system
            : {
                ...system,
                current: secret,
                made: system.made.map((other, at) => (at === call ? secret : other)),
              };
        emit(
          `${name} has the service replace the secret: ${secretName(secret)}.`,
          become(called, { at: "has secret", secret }),
        );
        if (system.failures === 0) return;
        const failures = system.failures - 1;
        emit(`${name} has the service replace the secret; the answer is lost.`, { ...called, failures });
        // a failure may be repeated for its idempotency key, and may have replaced the secret
        write(
          "gets an error from the service, and records another idempotency key",
          { holdsOff: true, call: system.made.length },
          {},
          { failures, current: called.current, made: [...called.made, -1] },
        );
        return;
      }
      case "has secret": {
        const { secret } = runner;
        const old = runner.read.keys.filter((key) => key !== secret);
        write(
          `stores ${secretName(secret)}, and gives the old key an end`,
          {
            keys: [...old, secret],
            ending: old[0] ?? -1,
            holdsOff: rotationSteps.stored.holdsOff && follows("holdUntilArrived"),
            step: "stored",
          },
          { at: "finishes" },
        );
        return;
      }
      case "finishes": {
        if (store.ending >= 0 && follows("reconcileLast")) return;
        if (!runner.hasReconciled) {
          const deliveries = system.deliveries.map((delivery) =>
            delivery.state === "refused" ? ({ ...delivery, state: "recovered" } as const) : delivery,
          );
          emit(`${name} reconciles.`, become({ ...system, deliveries }, { hasReconciled: true }));
          return;
        }
        if (store.ending >= 0) return;
        write("records that the rotation is finished", { step: "none", holdsOff: false }, idle);
        return;
      }
    }
  }

  function check({ deliveries, store, current, hasBegun, runners }: System): void {
    const isUnderWay = store.step !== "none";
    for (const [index, { state, secret }] of deliveries.entries()) {
      if (state === "refused" && !isUnderWay && !isBeginning(runners))
        throw new Broken(`delivery ${index + 1} was refused, and no run will reconcile it`);
      const isOld = secret !== current && !store.keys.includes(secret);
      if (state === "under way" && hasBegun && !isUnderWay && isOld && !isBeginning(runners))
        throw new Broken(`delivery ${index + 1} will be refused, and no run will reconcile it`);
    }
    if (hasBegun && !isUnderWay && !isBeginning(runners) && !store.keys.includes(current))
      throw new Broken(
        "the rotation is finished, and the receivers do not have the secret that the service signs with",
      );
  }

  return explore<System>({
    first: {
      deliveries: Array.from({ length: bounds.deliveries }, () => ({ state: "due", secret: -1 })),
      store: firstStore,
      runners: Array.from({ length: bounds.runners }, () => idle),
      current: 0,
      made: [],
      kills: bounds.kills,
      failures: bounds.failures,
      hasBegun: false,
    },
    successors,
    check,
    checkEnd({ deliveries, store }) {
      if (deliveries.some(({ state }) => state !== "accepted" && state !== "recovered"))
        throw new Broken("a delivery is neither accepted nor recovered when all has ended");
      if (store.step !== "none") throw new Broken("the rotation cannot be finished");
    },
    encode: JSON.stringify,
    decode: (text) => JSON.parse(text) as System,
  });
}

/** Whether a run is between its first write and the one that records the call. */
function isBeginning(runners: readonly Runner[]): boolean {
  return runners.some(({ at }) => at === "calls" || at === "has secret");
}

function secretName(secret: Secret): string {
  return secret === 0 ? "the old secret" : `new secret ${secret}`;
}

export const rotationBounds: readonly RotationBounds[] = [
  { name: "a rotation", deliveries: 2, runners: 1, kills: 2, failures: 2 },
  { name: "a rotation by two processes", deliveries: 1, runners: 2, kills: 1, failures: 1 },
];
