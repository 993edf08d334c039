import type * as reads from "./reads.ts";
import type * as writes from "./writes.ts";

export type Writes = typeof writes;
export type Reads = typeof reads;

/** Every operation, by its name. */
type Operations = Writes & Reads;

/** What an operation is asked. */
export type InputOf<Name extends keyof Operations> = Parameters<Operations[Name]>[1];

/** What it answers. */
export type OutputOf<Name extends keyof Operations> = ReturnType<Operations[Name]>;
