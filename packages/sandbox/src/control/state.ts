import type { Switches } from "../base/switches.ts";
import type { Fault } from "../faults/fault.ts";
import type { Parts } from "./parts.ts";

/** The sandbox as a whole, as the control side shows it. */
export interface State {
  /** The time of the service's clock. */
  readonly now: string;
  /** How many times as fast as real time the clock goes; null: it stands still until it is advanced. */
  readonly speed: number | null;
  /** When the next attempt of a delivery is due; null when none is. */
  readonly nextDueAt: string | null;
  readonly clients: readonly { readonly clientReference: string; readonly name: string }[];
  readonly faults: readonly Fault[];
  readonly switches: Switches;
}

export function stateOf({ service, faults, sender, speed }: Parts): State {
  const nextDueAt = sender.nextDueAt();
  return {
    now: new Date(service.clock.now()).toISOString(),
    speed,
    nextDueAt: nextDueAt === undefined ? null : new Date(nextDueAt).toISOString(),
    clients: service.db.all("select clientReference, name from clients order by rowid"),
    faults: faults.list(),
    switches: service.switches,
  };
}
