// npm run bench -- import: reading dumps and importing them into Postgres and SQLite, compared with the least that any import must do.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { privatePostgres } from "../test/servers/index.ts";
import { deliveriesOf } from "./import-dump.ts";
import { benchImportEmbedded } from "./import-embedded.ts";
import { measureDryRun, measureParse } from "./import-read.ts";
import { batchesFrom, measureBare, measureImport } from "./import-store.ts";
import { median } from "./measure.ts";
import { inTurns, line, perSecond, times } from "./report.ts";

const rounds = 9;
const recordsRead = 200_000;
const recordsStored = 40_000;
const batchSize = 500;
const dumpBytes = 2_000_000_000;
const memoryRounds = 5;

const run = promisify(execFile);
const megabytes = (figure: number) => `${figure.toFixed(0)} MB`;

export async function benchImport(): Promise<void> {
  await benchRead();
  await benchMemory();
  await benchStore();
  await benchImportEmbedded();
}

async function benchRead(): Promise<void> {
  const records = deliveriesOf(recordsRead);
  const lines = Buffer.from(records.join("\n").concat("\n"));
  const array = Buffer.from(`[${records.join(",\n")}]`);
  const packed = gzipSync(lines);
  const rates = await inTurns(
    {
      parse: () => measureParse(lines),
      ndjson: () => measureDryRun(lines),
      gzip: () => measureDryRun(packed),
      array: () => measureDryRun(array),
    },
    rounds,
  );
  const recordBytes = Math.round(lines.byteLength / recordsRead);
  console.log(`\ndry run of ${recordsRead.toLocaleString("en")} delivery records of ${recordBytes} bytes`);
  const [ndjson, parse] = [median(rates.ndjson), median(rates.parse)];
  line("NDJSON", perSecond(ndjson), "≥ 250,000/s, or the ratio");
  line("lines and JSON.parse alone", perSecond(parse));
  line("ratio", times(ndjson / parse), "≥ 0.5");
  line("NDJSON in gzip", perSecond(median(rates.gzip)));
  line("JSON array", perSecond(median(rates.array)));
}

async function benchMemory(): Promise<void> {
  await run("npx", ["tsc", "-b"]);
  const part = Buffer.from(deliveriesOf(1000).join("\n").concat("\n"));
  const peaks: number[] = [];
  for (let round = 0; round < memoryRounds; round++) peaks.push(await peakOfDryRun(part));
  console.log(`\nesim-webhooks import --dry-run of ${(dumpBytes / 1e9).toFixed(1)} GB`);
  line("peak memory", megabytes(median(peaks)), "< 150 MB");
  line("the highest of the peaks", megabytes(Math.max(...peaks)));
}

/** The peak memory of the built command, in MiB, as Linux measures it, while it reads `part` repeatedly. */
async function peakOfDryRun(part: Uint8Array): Promise<number> {
  const command = join(import.meta.dirname, "../packages/cli/bin/esim-webhooks.js");
  const args = [command, "import", "-", "--dry-run", "--trust-unsigned", "--json"];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "ignore", "ignore"] });
  for (let written = 0; written < dumpBytes; written += part.byteLength) {
    if (!child.stdin.write(part)) await once(child.stdin, "drain");
  }
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8"); // while the process is running
  child.stdin.end();
  await once(child, "close");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

async function benchStore(): Promise<void> {
  const server = await privatePostgres({ fsync: "on" }); // as in production
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on("error", () => {});
  try {
    const dump = Buffer.from(deliveriesOf(recordsStored).join("\n"));
    const inbox = postgresInbox({ url: server.url });
    await inbox.migrate();
    await measureImport(inbox, dump);
    const batches = await batchesFrom(pool, "esim_webhooks", batchSize);
    await pool.query("create schema bare; create table bare.event (like esim_webhooks.event including all)");
    const rates = await inTurns(
      {
        imported: async () => {
          await pool.query("truncate esim_webhooks.event");
          return measureImport(inbox, dump);
        },
        bare: async () => {
          await pool.query("truncate bare.event");
          return measureBare(pool, "bare", batches);
        },
      },
      rounds,
    );
    await inbox.close();
    const [imported, bare] = [median(rates.imported), median(rates.bare)];
    console.log(`\nimport of ${recordsStored.toLocaleString("en")} delivery records into Postgres, fsync on`);
    line("esim-webhooks", perSecond(imported), "≥ 40,000/s");
    line("the same rows by a bare unnest insert", perSecond(bare));
    line("ratio", times(imported / bare), "≥ 0.6");
  } finally {
    await pool.end();
    await server.close();
  }
}
