const mostLinks = 5;
const longestMessage = 200;

/**
 * An error with the name, the code and the message of another error, and of its causes. Errors of a transport carry more: undici's
 * `HTTPParserError` has the bytes that it could not read in `data`.
 * @param hide hides what no message may show
 */
export function bareError(error: unknown, hide: (text: string) => string, links: number = mostLinks): Error {
  const shown = (text: string) => oneLine(hide(text), longestMessage);
  const { name, code, message, cause } = Object(error) as Partial<Record<keyof Error | "code", unknown>>;
  const bare = new Error(typeof message === "string" ? shown(message) : "");
  if (typeof name === "string") Object.defineProperty(bare, "name", { value: shown(name) });
  bare.stack = String(bare);
  if (typeof code === "string") Object.assign(bare, { code: shown(code) });
  if (cause !== undefined && links > 1)
    Object.defineProperty(bare, "cause", { value: bareError(cause, hide, links - 1) });
  return bare;
}

/** A foreign text for a message: one line, without control characters, cut to `most` characters. */
export function oneLine(text: string, most: number): string {
  const line = [
    ...text
      .slice(0, most * 4)
      .replace(/[\p{C}\p{Z}]+/gu, " ")
      .trim(),
  ];
  return line.length > most ? `${line.slice(0, most - 1).join("")}…` : line.join("");
}
