import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteCopySource, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect, it, onTestFinished } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import * as first from "../src/database/migration-0001.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("schema_mismatch");

const folder = folderOfEachTest();

/** A file of the version that knew one migration, with an event that waits. */
function earlierFile(): string {
  const path = join(folder.path, "events.db");
  const database = new DatabaseSync(path);
  database.exec(first.text);
  database.exec(`insert into esim_webhooks_migration (number, id, applied_at) values (1, '${first.id}', 0)`);
  const { source, id, type, body } = entry("msg_1");
  database
    .prepare(
      "insert into esim_webhooks_event (source, id, state, ends_at, type, received_at, body) values (?, ?, 'ready', 0, ?, 0, ?)",
    )
    .run(source, id, type, body);
  database.close();
  return path;
}

it("keeps the events of a file of an earlier version, and works them", async () => {
  const inbox = sqliteInbox({ path: earlierFile() });
  onTestFinished(() => inbox.close());
  expect(await inbox.get(key("msg_1"))).toMatchObject({ state: "ready", subject: null, history: [] });
  const [lease] = await inbox.take({ limit: 1, leaseMs: 1000 });
  expect(lease).toMatchObject({ id: "msg_1", attempt: 1, trace: null });
  if (lease) await inbox.settle([{ ...lease, state: "done" }]);
  expect(await inbox.put([entry("msg_1")])).toEqual(["duplicate"]);
});

it("lets a process of the earlier version go on with the file that it has open, while another one updates it", async () => {
  const path = earlierFile();
  const earlier = new DatabaseSync(path);
  onTestFinished(() => earlier.close());
  const put = earlier.prepare(
    "insert into esim_webhooks_event (source, id, state, ends_at, type, received_at, body) values ('default', ?, 'ready', 0, 'a', 0, x'7b7d')",
  );
  put.run("msg_2");
  const inbox = sqliteInbox({ path });
  onTestFinished(() => inbox.close());
  await inbox.ready();
  put.run("msg_3");
  const taken = await inbox.take({ limit: 10, leaseMs: 1000 });
  expect(taken.map(({ id }) => id).sort()).toEqual(["msg_1", "msg_2", "msg_3"]);
});

it("does not copy from a file of an earlier version until it was updated", async () => {
  const path = earlierFile();
  const source = sqliteCopySource({ path });
  onTestFinished(() => source.close());
  await expect(source.ready()).rejects.toMatchObject({
    code: "schema_mismatch",
    message: expect.stringMatching(/this version reads those at migration.*esim-webhooks migrate/),
  });
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  await inbox.close();
  await source.ready();
});
