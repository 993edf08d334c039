import { randomBytes } from "node:crypto";

/** The longest id that a delivery may have: 1,024 bytes, here of ASCII, with a comma. No index can compress it. */
export const longestId: string = `${randomBytes(768).toString("base64").slice(2)},a`;
