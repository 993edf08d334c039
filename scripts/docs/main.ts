// npm run docs: writes the pages that are made from doc comments. test/made-pages.test.ts checks that they are current.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventsPage, readEvents } from "./events-page.ts";
import { root } from "./read-types.ts";

const events = join(root, "docs/events.md");
writeFileSync(events, eventsPage(readFileSync(events, "utf8"), readEvents()));
