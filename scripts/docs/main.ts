// npm run docs: writes the pages that are made from doc comments. test/made-pages.test.ts checks that they are current.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventsPage, readEvents } from "./events-page.ts";
import { logLinesPage, readLogLines } from "./log-lines.ts";
import { optionsPage, readOptions } from "./options-page.ts";
import { root } from "./read-types.ts";

rewrite("docs/events.md", (page) => eventsPage(page, readEvents()));
rewrite("docs/observing.md", (page) => logLinesPage(page, readLogLines()));
rewrite("docs/options.md", (page) => optionsPage(page, readOptions()));

function rewrite(file: string, change: (page: string) => string): void {
  const path = join(root, file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
}
