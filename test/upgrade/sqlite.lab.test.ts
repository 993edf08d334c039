import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it, onTestFinished } from "vitest";
import type { Effects } from "./process.ts";
import { expectRollingRestart, migratePrevious, type Place } from "./upgrade.ts";

it("SQLite: processes of the previous version are replaced while events arrive, and no event is lost or handled twice", async () => {
  await expectRollingRestart(await sqlitePlace());
});

/** A new file with the tables of the previous version. */
async function sqlitePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-upgrade-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "events.db");
  const environment = await migratePrevious({ STORE: "sqlite", PLACE: path });
  const database = new DatabaseSync(path, { timeout: 60_000 });
  onTestFinished(() => database.close());
  database.exec("create table effect (event text, lane text, began real, ended real, version text)");
  return {
    environment,
    effects: async () => database.prepare("select * from effect").all() as unknown as Effects["effect"][],
    async states() {
      const rows = database
        .prepare("select state, count(*) as count from esim_webhooks_event group by state")
        .all();
      return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
    },
  };
}
