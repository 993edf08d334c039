// What the writer does. Each takes a transaction, which others may share, and what it is asked.
export { changeSomething as probe } from "../database/change-something.ts";
export { apply } from "./apply.ts";
export { claim } from "./claim.ts";
export { complete } from "./complete.ts";
export { extend } from "./extend.ts";
export { forget, purgeClock } from "./forget.ts";
export { purgeDead } from "./purge-dead.ts";
export { put } from "./put.ts";
export { redrive } from "./redrive.ts";
export { release } from "./release.ts";
export { renew } from "./renew.ts";
export { rerun } from "./rerun.ts";
export { settle } from "./settle.ts";
export { writeState } from "./state.ts";
export { take } from "./take.ts";
