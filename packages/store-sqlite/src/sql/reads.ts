// What the reader answers. Each takes a connection, which sees what is committed, and what it is asked.
export { count, get, list, stats } from "./look.ts";
export { read } from "./read.ts";
export { readState } from "./state.ts";
