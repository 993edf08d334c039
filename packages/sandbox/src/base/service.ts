import type { ServiceClock } from "./clock.ts";
import type { Database } from "./database.ts";
import type { Random } from "./random.ts";
import type { Switches } from "./switches.ts";

/** The database, clock and settings of the service. Operations are synchronous functions of it, each one transaction. */
export interface Service {
  readonly db: Database;
  readonly clock: ServiceClock;
  readonly switches: Switches;
  readonly random: Random;
  /** Called when a delivery may be due earlier than before. Set by the sender. */
  onDue: () => void;
}
