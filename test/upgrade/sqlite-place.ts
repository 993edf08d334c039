import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import * as first from "../../packages/store-sqlite/src/database/migration-0001.ts";
import type { Effects } from "./process.ts";
import type { Place } from "./upgrade.ts";

export interface SqlitePlace extends Place {
  readonly path: string;
  query(text: string): readonly Record<string, unknown>[];
}

/** A new file with the tables of the previous version, and that many done events. */
export function previousSqlite(events: number): SqlitePlace {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-upgrade-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "events.db");
  const database = new DatabaseSync(path, { timeout: 60_000 });
  onTestFinished(() => database.close());
  database.exec(`pragma auto_vacuum = incremental; pragma journal_mode = wal; begin; ${first.text}
    insert into esim_webhooks_migration (number, id, applied_at) values (1, '${first.id}', 0);
    create table effect (event text, lane text, began real, ended real, version text);
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${events})
    insert into esim_webhooks_event
      (source, id, state, ends_at, type, fingerprint, received_at, occurred_at, lane, attempts)
    select 'default', 'filled_' || hex(randomblob(16)), 'done', unixepoch() * 1000 + 2592000000, 'esim.enabled', n,
      unixepoch() * 1000 - n * 1000, unixepoch() * 1000 - n * 1000, 'esim ' || (n % 10000), 1
    from numbers where ${events} > 0;
    commit`);
  const query = (text: string) => database.prepare(text).all();
  return {
    environment: { STORE: "sqlite", PLACE: path },
    path,
    query,
    effects: async () => query("select * from effect") as unknown as Effects["effect"][],
    async states() {
      const rows = query(
        "select state, count(*) as count from esim_webhooks_event where id not like 'filled%' group by state",
      );
      return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
    },
  };
}
