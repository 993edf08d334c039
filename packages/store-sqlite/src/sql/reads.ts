// What the reader answers. Each takes a connection, which sees what is committed, and what it is asked.
export { backup } from "./backup.ts";
export { copyState, eventRecords, latestRecords, stateRecords } from "./copy.ts";
export { count } from "./count.ts";
export { get } from "./get.ts";
export { list } from "./list.ts";
export { read } from "./read.ts";
export { readState } from "./state.ts";
export { stats } from "./stats.ts";
