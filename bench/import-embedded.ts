import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { importDeliveries } from "@esim-webhooks/import";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { chunksOf, deliveriesOf } from "./import-dump.ts";
import { median } from "./measure.ts";
import { inTurns, line, perSecond, times } from "./report.ts";

const rounds = 5;
const records = 40_000;
const batchSize = 2000;

/** Importing into an SQLite file, compared with bare inserts of the same rows into a table with the same indexes. */
export async function benchImportEmbedded(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  try {
    const dump = Buffer.from(deliveriesOf(records).join("\n"));
    let files = 0;
    const newFile = () => join(folder, `${++files}.db`);
    const first = newFile();
    await measureImport(first, dump);
    const bare = bareInserts(first);
    const rates = await inTurns(
      { imported: () => measureImport(newFile(), dump), bare: async () => bare.measure(newFile()) },
      rounds,
    );
    const [imported, inserted] = [median(rates.imported), median(rates.bare)];
    console.log(`\nimport of ${records.toLocaleString("en")} delivery records into an SQLite file, synced`);
    line("esim-webhooks", perSecond(imported), "≥ 60,000/s");
    line("the same rows by a bare node:sqlite insert", perSecond(inserted));
    line("ratio", times(imported / inserted));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Events per second of an import into a new file. */
async function measureImport(path: string, dump: Uint8Array): Promise<number> {
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  const start = performance.now();
  const { ledger } = await importDeliveries(chunksOf(dump), inbox, { trustUnsigned: true });
  const seconds = (performance.now() - start) / 1000;
  await inbox.close();
  if (ledger.stored !== ledger.read) throw new Error(JSON.stringify(ledger));
  return ledger.read / seconds;
}

/**
 * Inserts the rows that an import has left in `source`: its tables and indexes, the same sync, one prepared statement, and
 * transactions of 2,000 rows. It looks for no conflict and computes no checksum, and its values are there before the clock starts.
 */
function bareInserts(source: string): { measure(path: string): number } {
  const imported = new DatabaseSync(source);
  const schema = imported.prepare("select sql from sqlite_schema where sql is not null").all();
  const rows = imported.prepare("select * from esim_webhooks_event order by rowid").all() as Record<
    string,
    SQLInputValue
  >[];
  imported.close();
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => columns.map((column) => row[column] ?? null));
  const text = `insert into esim_webhooks_event (${columns}) values (${columns.map(() => "?")})`;
  return {
    measure(path) {
      const database = new DatabaseSync(path);
      database.exec("pragma journal_mode = wal; pragma synchronous = full");
      for (const { sql } of schema) database.exec(String(sql));
      const insert = database.prepare(text);
      const start = performance.now();
      for (let at = 0; at < values.length; at += batchSize) {
        database.exec("begin immediate");
        for (const row of values.slice(at, at + batchSize)) insert.run(...row);
        database.exec("commit");
      }
      const seconds = (performance.now() - start) / 1000;
      database.close();
      return values.length / seconds;
    },
  };
}
