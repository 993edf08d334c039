import type { Service } from "../base/service.ts";
import type { Attempt } from "./attempt.ts";
import { postpone } from "./queue.ts";

/** Deliveries that wait for a later one to overtake them: the fault `reorder`. Forgotten at a restart, and then sent when due. */
export interface HeldDeliveries {
  /** Holds the delivery until it is overtaken, or `waitMs` have passed. */
  hold(attempt: Attempt, waitMs: number): void;
  /** The attempt was answered: the older deliveries to its endpoint that it has overtaken are due. */
  overtake(attempt: Attempt): void;
  /** Whether the delivery was held. It is no more. */
  release(attempt: Attempt): boolean;
}

export function heldDeliveries(service: Service): HeldDeliveries {
  const endpointOf = new Map<number, number>();
  return {
    hold({ sequence, endpointSequence }, waitMs) {
      endpointOf.set(sequence, endpointSequence);
      postpone(service, sequence, service.clock.now() + waitMs);
    },
    overtake(later) {
      for (const [sequence, endpoint] of endpointOf) {
        if (endpoint !== later.endpointSequence || sequence > later.sequence) continue;
        postpone(service, sequence, service.clock.now());
      }
    },
    release: ({ sequence }) => endpointOf.delete(sequence),
  };
}
