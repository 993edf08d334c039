import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { importDeliveries } from "@esim-webhooks/import";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { chunksOf, deliveriesOf } from "./import-dump.ts";
import { median } from "./measure.ts";
import { inTurns, line, micros, perSecond, times } from "./report.ts";

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
    const costs = await inTurns(
      { imported: () => measureImport(newFile(), dump), bare: async () => bare.measure(newFile()) },
      rounds,
    );
    console.log(`\nimport of ${records.toLocaleString("en")} delivery records into an SQLite file, synced`);
    for (const [name, ofName, wanted] of [
      ["esim-webhooks", costs.imported, "≥ 60,000/s"],
      ["the same rows by a bare node:sqlite insert", costs.bare, ""],
    ] as const) {
      line(name, perSecond(1e6 / median(ofName.map((cost) => cost.micros))), wanted);
      line("its CPU for a record, all threads", micros(median(ofName.map((cost) => cost.cpuMicros))));
    }
    const ratios = costs.bare.map((bare, round) => bare.micros / (costs.imported[round]?.micros ?? 0));
    line("ratio of the rates, of each round", times(median(ratios)), "≥ 0.8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The cost of a record. */
interface Cost {
  readonly micros: number;
  /** CPU of all threads: it grows less than the time when the machine has other work to do. */
  readonly cpuMicros: number;
}

/** Starts a clock for what is done with all records. */
function startCost(): () => Cost {
  const [start, startCpu] = [performance.now(), process.cpuUsage()];
  return () => {
    const micros = (performance.now() - start) * 1000;
    const { user, system } = process.cpuUsage(startCpu);
    return { micros: micros / records, cpuMicros: (user + system) / records };
  };
}

/** An import into a new file. */
async function measureImport(path: string, dump: Uint8Array): Promise<Cost> {
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  const cost = startCost();
  const { ledger } = await importDeliveries(chunksOf(dump), inbox, { trustUnsigned: true });
  const taken = cost();
  await inbox.close();
  if (ledger.stored !== ledger.read) throw new Error(JSON.stringify(ledger));
  return taken;
}

/**
 * Inserts the rows that an import has left in `source`: its tables and indexes, the same sync, one prepared statement, and
 * transactions of 2,000 rows. It looks for no conflict and computes no checksum, and its values are there before the clock starts.
 */
function bareInserts(source: string): { measure(path: string): Cost } {
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
      const cost = startCost();
      for (let at = 0; at < values.length; at += batchSize) {
        database.exec("begin immediate");
        for (const row of values.slice(at, at + batchSize)) insert.run(...row);
        database.exec("commit");
      }
      const taken = cost();
      database.close();
      return taken;
    },
  };
}
