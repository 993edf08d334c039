// The reads of a reader's thread. Each takes a connection, which sees what is committed, and its input.
export { backup, quickCheck } from "./backup.ts";
export { copyCounts, dataVersion, eventRecords, latestRecords, operatorNotes, stateRecords } from "./copy.ts";
export { truncateLog } from "./erase.ts";
export { gauges } from "./gauges.ts";
export { get } from "./get.ts";
export { read } from "./handler-statements.ts";
export { list } from "./list.ts";
export { minutes, runs, workers } from "./notes.ts";
export { paused } from "./pause.ts";
export { readState } from "./state.ts";
export { count, sources, stats } from "./stats.ts";
