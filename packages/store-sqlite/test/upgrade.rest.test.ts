import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { runNode } from "../../../test/run.ts";
import { connect } from "../src/database/connection.ts";
import { migrate } from "../src/database/migrations.ts";
import { later } from "./later-version.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();
const events = 50_000;
const kills = 3;
const migrating = fileURLToPath(new URL("later-version.ts", import.meta.url));

/** A file with copies of one event. */
async function fileOfEvents(): Promise<string> {
  const path = join(folder.path, "events.db");
  const inbox = sqliteInbox({ path });
  await inbox.put([entry("msg_1")]);
  await inbox.close();
  const connection = connect(path, { busyMs: 5000 });
  const columns = connection
    .all<{ name: string }>("select name from pragma_table_info('esim_webhooks_event') where name <> 'id'")
    .map(({ name }) => name)
    .join();
  connection.exec(`with recursive number (n) as (select 2 union all select n + 1 from number where n < ${events})
    insert into esim_webhooks_event (id, ${columns}) select 'msg_' || n, ${columns} from number, esim_webhooks_event`);
  connection.close();
  return path;
}

it("a file has all its events when processes that migrate it are killed in the middle, and the next one completes it", async () => {
  const original = await fileOfEvents();
  const wholeMs = 50; // about as long as the migration takes: some kills are too late, and tried again
  let inTheMiddle = 0;
  for (let tries = 1; inTheMiddle < kills; tries += 1) {
    expect(tries).toBeLessThan(100);
    const path = join(folder.path, `copy_${tries}.db`);
    copyFileSync(original, path);
    const run = runNode([migrating, path]);
    await run.line(/^begins$/);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * wholeMs));
    run.child.kill("SIGKILL");
    await run.ended;
    const connection = connect(path, { busyMs: 60_000 });
    const applied = () => connection.all("select number from esim_webhooks_migration").length;
    if (applied() < later.length) inTheMiddle += 1;
    const inbox = sqliteInbox({ path });
    expect(await inbox.count({ state: "ready" })).toBe(events); // by the version from before
    await inbox.close();
    migrate(connection, path, later);
    expect(applied()).toBe(later.length);
    expect(connection.all("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
    connection.close();
  }
});
