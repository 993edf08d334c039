import type { ReplaySettings } from "./replay-options.ts";

/** What a sink is opened with. */
export interface SinkSettings extends ReplaySettings {
  /** How long a handler may take, in ms. Undefined: as long as it needs. */
  readonly deadlineMs?: number | undefined;
}
