import { afterEach } from "vitest";

/** A list for what the tests of a file open: after each test it is closed, the last one first. Call it at the top of the file. */
export function closedAfterEach(): { close(): unknown }[] {
  const opened: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
  });
  return opened;
}
