import {
  type CallFault,
  type DeliveryFault,
  type Fault,
  type FaultSettings,
  isCallFault,
  readFault,
} from "./fault.ts";
import { type Random, seededRandom } from "./random.ts";

/** An attempt that a fault may strike. */
export interface FaultyAttempt {
  /** The type of the event that is sent. */
  readonly eventType: string;
  /** The delivery's number. With `attempt` it identifies the attempt, so that a seed strikes the same attempts again. */
  readonly sequence: number;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
}

/** The faults that were asked for and have not struck as often as they may. */
export interface Faults {
  /** Throws `Refused("invalid")`. */
  add(fault: FaultSettings): void;
  /** Removes all faults: none of them strikes any more. */
  clear(): void;
  /** Returns the faults that may still strike. `times` is how often; absent if there is no limit. */
  list(): readonly Fault[];
  /** Returns the oldest fault that strikes this call, and counts the strike. `call` as in `"POST /esims"`, with parameters by name. */
  onCall(call: string): CallFault | undefined;
  /** Returns the oldest fault that strikes this attempt, and counts the strike. */
  onDelivery(attempt: FaultyAttempt): DeliveryFault | undefined;
}

interface Pending {
  readonly fault: Fault;
  /** How often it may still strike; undefined: no limit. */
  left: number | undefined;
  readonly seed: number;
  /** How many calls it could have struck. */
  calls: number;
}

/** Makes an empty list of faults. Chance depends only on the seed and on the call or attempt: the same seed strikes the same ones again. */
export function createFaults(random: Random): Faults {
  let pending: Pending[] = [];

  function add(settings: FaultSettings): void {
    const fault = readFault(settings);
    const left = fault.times ?? (fault.probability === undefined ? 1 : undefined);
    pending.push({ fault, left, seed: random.below(2 ** 32), calls: 0 });
  }

  /** Whether the fault strikes a call or an attempt, which `number` identifies. */
  function strikes(one: Pending, number: number): boolean {
    const { probability = 1 } = one.fault;
    return seededRandom(one.seed + number).fraction() < probability;
  }

  function strike(one: Pending): void {
    if (one.left === undefined) return;
    one.left -= 1;
    if (one.left === 0) pending = pending.filter((other) => other !== one);
  }

  return {
    add,
    clear() {
      pending = [];
    },
    list: () => pending.map(({ fault, left }) => (left === undefined ? fault : { ...fault, times: left })),
    onCall(call) {
      for (const one of pending) {
        const { fault } = one;
        if (!isCallFault(fault) || (fault.call ?? call) !== call || !strikes(one, one.calls++)) continue;
        strike(one);
        return fault;
      }
      return undefined;
    },
    onDelivery({ eventType, sequence, attempt }) {
      for (const one of pending) {
        const { fault } = one;
        if (isCallFault(fault) || (fault.eventType ?? eventType) !== eventType) continue;
        if (changesBody(fault) && attempt > 1) continue; // all attempts have the same bytes
        if (!strikes(one, sequence * attemptsApart + attempt)) continue;
        strike(one);
        return fault;
      }
      return undefined;
    },
  };
}

const attemptsApart = 16; // above the number of attempts that a delivery has

function changesBody({ kind }: Fault): boolean {
  return kind === "new_field" || kind === "new_reason" || kind === "other_shape";
}
