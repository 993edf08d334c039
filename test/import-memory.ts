// A process for tests: imports 1,000,000 generated records, and prints the report and the most memory it took, in MB.
// INTO is "nothing" (a dry run) or "inbox"; with OLDEST_FIRST they are sorted.
import { importDeliveries } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

const records = 1_000_000;
const data = sampleData("esim.enabled");

async function* dump(): AsyncGenerator<Uint8Array> {
  for (let begin = 0; begin < records; begin += 100) {
    const lines = Array.from({ length: 100 }, (_, index) => {
      const timestamp = new Date(1.79e12 - (begin + index) * 1000).toISOString();
      const payload = { type: "esim.enabled", timestamp, data };
      const answers = { status: "failed", attemptNumber: 10, httpStatus: 503, sentAt: timestamp };
      return `${JSON.stringify({ eventType: "esim.enabled", eventId: `msg_${begin + index}`, payload, ...answers })}\n`;
    });
    yield Buffer.from(lines.join(""));
  }
}

const put = async (entries: readonly unknown[]) => {
  await new Promise(setImmediate);
  return entries.map(() => "stored" as const);
};
const dryRun = process.env["INTO"] === "nothing";
const oldestFirst = process.env["OLDEST_FIRST"] === "yes";
const report = await importDeliveries(dump(), { put }, { trustUnsigned: true, dryRun, oldestFirst });
console.log(JSON.stringify({ ...report.ledger, mostMegabytes: process.resourceUsage().maxRSS / 1000 }));
