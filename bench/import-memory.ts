// Dry run of a dump of so many bytes, made as it is read, in a process of its own: prints its peak memory.
import { readFileSync } from "node:fs";
import { importDeliveries } from "@esim-webhooks/core";
import { chunksOf, deliveriesOf } from "./import-dump.ts";

const wanted = Number(process.argv[2]);
const part = Buffer.from(deliveriesOf(1000).join("\n").concat("\n"));

async function* dump(): AsyncGenerator<Uint8Array> {
  for (let made = 0; made < wanted; made += part.byteLength) {
    await new Promise(setImmediate); // as between two reads of a file
    yield* chunksOf(part);
  }
}

/** Linux's own count. That of `process.resourceUsage()` begins with the memory of the process that started this one. */
function peakMegabytes(): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return (Number(kibibytes) * 1024) / 1e6;
}

const beforeMegabytes = peakMegabytes();
const inbox = { put: () => Promise.reject(new Error("a dry run stores nothing")) };
const { ledger, bytesRead } = await importDeliveries(dump(), inbox, { dryRun: true, trustUnsigned: true });
console.log(
  JSON.stringify({ records: ledger.read, bytesRead, beforeMegabytes, peakMegabytes: peakMegabytes() }),
);
