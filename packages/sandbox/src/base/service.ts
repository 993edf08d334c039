import type { ServiceClock } from "./clock.ts";
import type { Database } from "./database.ts";
import type { Random } from "./random.ts";
import type { Switches } from "./switches.ts";

/** The database, clock and settings of the service. Each operation is a synchronous function and one transaction. */
export interface Service {
  readonly db: Database;
  readonly clock: ServiceClock;
  readonly switches: Switches;
  readonly random: Random;
  /** Operations call it when a delivery may be due earlier than before. The sender sets it. */
  onDue: () => void;
}
