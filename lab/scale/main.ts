// npm run lab -- scale [sqlite | postgres] [--rows N] [--from N] [--folder F]
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { median } from "../../bench/measure.ts";
import { type Call, calls, expired, mostRatio, timeOnce } from "./calls.ts";
import { checkCopies } from "./check-copies.ts";
import { postgresEngine } from "./postgres.ts";
import { sqliteEngine } from "./sqlite.ts";
import type { Engine, Table } from "./table.ts";

const engines: Readonly<Record<string, (folder: string) => Engine | Promise<Engine>>> = {
  sqlite: sqliteEngine,
  postgres: postgresEngine,
};
/** A table's share of the disk, its indexes, its log and the files of a sort included. */
const bytesOfRow = 600;
const patienceMs = 60_000;
const count = (rows: number) => rows.toLocaleString("en");
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

/**
 * Times each call on a table of `--from` rows and on one of `--rows`, alternately, and prints the ratios. Resolves to whether each is within
 * its limit. Rejects if a call answers less than it must.
 */
export async function runScale(...args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rows: { type: "string", default: "10000000" },
      from: { type: "string", default: "1000000" },
      folder: { type: "string", default: tmpdir() },
    },
  });
  const sizes = [values.from, values.rows].map(Number);
  const wantedEngines = Object.entries(engines).filter(([name]) => name.includes(positionals[0] ?? ""));
  const areRows = (rows: number) => rows >= 20_000 && rows % 1000 === 0;
  if (!sizes.every(areRows) || wantedEngines.length === 0) {
    console.error(
      `--rows and --from must be multiples of 1,000 from 20,000 on, and the engine one of ${Object.keys(engines).join(", ")}.`,
    );
    return false;
  }
  process.env["TMPDIR"] = values.folder; // also the private Postgres makes its folder there
  if (!hasRoom(values.folder, sizes)) return false;
  let isFast = true;
  for (const [, open] of wantedEngines)
    isFast = (await measureEngine(await open(values.folder), sizes)) && isFast;
  return isFast;
}

/** Prints the room that is needed: one engine at a time has its tables on the disk. */
function hasRoom(folder: string, sizes: readonly number[]): boolean {
  const { bavail, bsize } = statfsSync(folder);
  const bytes = sizes.reduce((sum, rows) => sum + rows * bytesOfRow, 0);
  console.log(`${folder}: needs some ${gigabytes(bytes)}, and ${gigabytes(bavail * bsize)} are free.`);
  if (bytes <= bavail * bsize) return true;
  console.error(
    "That is not enough. Name a folder on another disk with --folder, or fewer rows with --rows.",
  );
  return false;
}

/** Returns whether each call is within its limit. */
async function measureEngine(engine: Engine, sizes: readonly number[]): Promise<boolean> {
  try {
    const tables: Table[] = [];
    for (const rows of sizes) tables.push(await openTable(engine, rows));
    console.log(
      `${engine.name}, ${sizes.map(count).join(" and ")} rows: the median time of a call, and their ratio`,
    );
    const tooSlow: string[] = [];
    for (const call of calls) {
      const [small = Number.NaN, large = Number.NaN] = await timeCall(call, tables, sizes);
      const ratio = large / small;
      const figures = [small, large].map((ms) => `${ms.toFixed(ms < 10 ? 2 : 0)} ms`.padStart(11));
      console.log(`  ${call.name.padEnd(34)}${figures.join("")}${ratio.toFixed(2).padStart(8)} ×`);
      const most = mostRatio(engine.name, call.name, (sizes[1] ?? 0) / (sizes[0] ?? 1));
      if (!(ratio <= most)) tooSlow.push(`${call.name} (${ratio.toFixed(1)} ×, at most ${most})`);
    }
    console.log(
      tooSlow.length === 0 ? "  Each is within its limit." : `  ✘ Above their limits: ${tooSlow.join(", ")}.`,
    );
    for (const table of tables) await table.close();
    return tooSlow.length === 0;
  } finally {
    await engine.close();
  }
}

async function openTable(engine: Engine, rows: number): Promise<Table> {
  const startedAt = performance.now();
  const table = await engine.open(`rows_${rows}`, { rows, expired });
  const seconds = (performance.now() - startedAt) / 1000;
  const bytes = await table.bytes();
  console.log(
    `${engine.name}: made ${count(rows)} rows in ${seconds.toFixed(0)} s, ${count(Math.round(rows / seconds))} a second; ${gigabytes(bytes)}, ${Math.round(bytes / rows)} bytes a row`,
  );
  await checkCopies(table.inbox, { rows, expired });
  return table;
}

/** The median time of a call on each table, in ms. The tables alternate, so that other load of the machine affects both. The first round warms up. */
async function timeCall(
  call: Call,
  tables: readonly Table[],
  sizes: readonly number[],
): Promise<readonly number[]> {
  const times = tables.map((): number[] => []);
  const endsAt = performance.now() + patienceMs;
  for (let round = 0; round <= call.rounds && (round <= 3 || performance.now() < endsAt); round++) {
    for (const [at, table] of tables.entries()) {
      const ms = await timeOnce(call, table, sizes[at] ?? 0, round);
      if (round > 0) times[at]?.push(ms);
    }
  }
  return times.map(median);
}
