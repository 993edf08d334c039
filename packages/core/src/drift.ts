export type { DriftFinding, DriftMessage } from "./drift/finding.ts";
export { driftText } from "./drift/finding.ts";
export type { JsonType } from "./drift/json-type.ts";
export type { SeenField, SeenType } from "./drift/read-drift.ts";
export { acknowledgeDrift, readDrift } from "./drift/read-drift.ts";
export type { DriftEvent, DriftWatch } from "./drift/watch-drift.ts";
export { watchDrift } from "./drift/watch-drift.ts";
