import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { afterAll, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { temporaryFolder } from "./temporary-folder.ts";

expectWarnings("short_retention");

const folder = temporaryFolder();
afterAll(folder.remove);

it("gives the room of what was purged back to the disk, some at each purge", async () => {
  const path = join(folder.path, "events.db");
  const open = () => sqliteInbox({ path, retentionMs: 1, keepBodies: true });
  const count = 200;
  let inbox = open();
  const body = new Uint8Array(10_000);
  await inbox.put(Array.from({ length: count }, (_, n) => ({ ...entry(`msg_${n}`), body })));
  const taken = await inbox.take({ limit: count, leaseMs: 60_000 });
  await inbox.settle(taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
  await inbox.close(); // which writes the log back
  const before = statSync(path).size;
  expect(before).toBeGreaterThan(count * body.length);
  inbox = open();
  let purged = 0;
  await expect
    .poll(async () => {
      purged += await inbox.purge(50);
      return purged;
    })
    .toBe(count);
  await inbox.close();
  expect(statSync(path).size).toBeLessThan(before / 4);
});

it("acknowledges and claims no event that a trigger of the user's own discards", async () => {
  const path = join(folder.path, "trigger.db");
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  const database = new DatabaseSync(path);
  database.exec(
    "create trigger discards before insert on esim_webhooks_event begin select raise(ignore); end",
  );
  database.close();
  const store = sqliteStore({ path });
  for (const work of [inbox.put([entry("msg_1")]), store.claim({ source: "default", id: "msg_2" }, 1000)])
    await expect(work).rejects.toMatchObject({
      code: "schema_mismatch",
      message: expect.stringMatching(/has discarded an event .* Remove the trigger/),
    });
  await Promise.all([inbox.close(), store.close()]);
});
