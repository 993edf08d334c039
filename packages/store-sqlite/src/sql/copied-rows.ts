import { hasEnded } from "./lease.ts";

/** Whether a row is copied to another inbox: SQL. A claim that has ended and has no body is as good as absent. */
export const isCopied: string = `(state <> 'leased' or body is not null and ${hasEnded})`;

/** The most rows that are read at once. */
export const pageRows = 500;
