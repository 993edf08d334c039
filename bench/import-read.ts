import { importDeliveries } from "@esim-webhooks/import";
import { chunksOf } from "./import-dump.ts";

/** Records per second of a dry run: it reads, recognises, checks and counts them. */
export async function measureDryRun(dump: Uint8Array): Promise<number> {
  const inbox = { put: () => Promise.reject(new Error("a dry run stores nothing")) };
  const start = performance.now();
  const { ledger, damage } = await importDeliveries(chunksOf(dump), inbox, {
    dryRun: true,
    trustUnsigned: true,
  });
  const seconds = (performance.now() - start) / 1000;
  if (damage !== null || ledger.stored !== ledger.read) throw new Error(JSON.stringify({ ledger, damage }));
  return ledger.read / seconds;
}

/** Records per second of the least that any reader must do: split lines and `JSON.parse` each. */
export async function measureParse(dump: Uint8Array): Promise<number> {
  const start = performance.now();
  const decoder = new TextDecoder();
  let read = 0;
  let rest = "";
  for await (const chunk of chunksOf(dump)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (typeof JSON.parse(line) === "object") read += 1;
  }
  return read / ((performance.now() - start) / 1000);
}
