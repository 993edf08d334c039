import { oneLine } from "./one-line.ts";

const mostLinks = 5;
const longestMessage = 200;

/**
 * An error with the name, the code and the message of another, and of its causes. Errors of a transport carry more: undici's
 * `HTTPParserError` has the bytes that it could not read in `data`.
 */
export function bareError(error: unknown, links: number = mostLinks): Error {
  const { name, code, message, cause } = Object(error) as Partial<Record<keyof Error | "code", unknown>>;
  const bare = new Error(typeof message === "string" ? oneLine(message, longestMessage) : "");
  if (typeof name === "string") Object.defineProperty(bare, "name", { value: oneLine(name, longestMessage) });
  bare.stack = String(bare);
  if (typeof code === "string") Object.assign(bare, { code: oneLine(code, longestMessage) });
  if (cause !== undefined && links > 1)
    Object.defineProperty(bare, "cause", { value: bareError(cause, links - 1) });
  return bare;
}
