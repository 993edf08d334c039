import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { type OperatedInbox, openOperatedInbox } from "../operated-inbox.ts";

let operated: OperatedInbox;
let folder: string;
beforeEach(async () => {
  operated = await openOperatedInbox();
  folder = operated.at.cwd;
  dump = join(folder, "dump.ndjson");
});
afterEach(() => operated.remove());
