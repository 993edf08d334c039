// What the writer does. Each takes a transaction, which others may share, and what it is asked.
export { apply } from "./apply.ts";
export { claim } from "./claim.ts";
export { forget } from "./forget.ts";
export { complete, extend, release } from "./mark.ts";
export { purgeDead, redrive } from "./operate.ts";
export { put } from "./put.ts";
export { rerun } from "./rerun.ts";
export { renew, settle } from "./settle.ts";
export { writeState } from "./state.ts";
export { take } from "./take.ts";
