// The writes of the writer's thread. Each takes a transaction, which it may share with other writes, and its input.
export { forceSync as probe } from "../database/sync.ts";
export { claim, complete, extend, release } from "./claim.ts";
export { erase } from "./erase.ts";
export { forget, purgeClock } from "./forget.ts";
export { apply } from "./handler-statements.ts";
export { countMinute, noteRun, report } from "./notes.ts";
export { hold, holdMissed, letGo, pause, resume } from "./pause.ts";
export { put, rerun } from "./put.ts";
export { giveUp, purgeDead, redrive } from "./redrive.ts";
export { renew, settle } from "./settle.ts";
export { writeState } from "./state.ts";
export { take } from "./take.ts";
