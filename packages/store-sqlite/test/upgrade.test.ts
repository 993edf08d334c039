import { join } from "node:path";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect, it, onTestFinished } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { connect } from "../src/database/connection.ts";
import { migrate } from "../src/database/migrations.ts";
import { later } from "./later-version.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

expectWarnings("schema_mismatch");

const folder = folderOfEachTest();

it("a later version adds a column and an index while this one works, and this one goes on and opens the file again", async () => {
  const path = join(folder.path, "events.db");
  const inbox = sqliteInbox({ path });
  await inbox.put([entry("msg_1")]);
  const upgrading = connect(path, { busyMs: 5000 });
  onTestFinished(() => upgrading.close());
  migrate(upgrading, path, later);
  migrate(upgrading, path, later); // has nothing left to do
  expect(await inbox.put([entry("msg_2")])).toEqual(["stored"]);
  await inbox.close();

  const again = sqliteInbox({ path });
  onTestFinished(() => again.close());
  const taken = await again.take({ limit: 10, leaseMs: 1000 });
  expect(taken.map(({ id }) => id).sort()).toEqual(["msg_1", "msg_2"]);
  expect(upgrading.all("select number, oldest from esim_webhooks_migration order by number")).toEqual([
    { number: 1, oldest: 1 },
    { number: 2, oldest: 1 },
    { number: 3, oldest: 1 },
  ]);
  expect(upgrading.all("select count(note) as notes from esim_webhooks_event")).toEqual([{ notes: 0 }]);
});
