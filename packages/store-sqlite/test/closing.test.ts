import { join } from "node:path";
import { expect, it } from "vitest";
import { runNode } from "../../../test/run.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const script = `
  import { sqliteInbox } from "@esim-webhooks/store-sqlite";
  const inbox = sqliteInbox({ path: process.env.FILE });
  await inbox.ready();
  inbox.count().catch(() => {});
  await new Promise(setImmediate); // the call was sent, and its thread still starts
  await inbox.close();
  console.log("closed");
`;

it("resolves when a question is still being answered, and the process ends with 0", async () => {
  const folder = temporaryFolder();
  try {
    const file = join(folder.path, "events.db");
    const { ended } = runNode(["--input-type=module", "--eval", script], {
      FILE: file,
      NODE_NO_WARNINGS: "1",
    });
    expect(await ended).toEqual({ code: 0, output: "closed\n" });
  } finally {
    folder.remove();
  }
});
