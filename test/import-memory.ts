// A process for tests: imports 1,000,000 generated records, and prints the ledger, and by how many MB the most memory it had
// grew. INTO is "nothing" (a dry run) or "inbox".
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
const most = () => process.resourceUsage().maxRSS / 1000;
const before = most(); // sources cost some 30 MB that a built package does not
const { ledger } = await importDeliveries(dump(), { put }, { trustUnsigned: true, dryRun });
console.log(`imported ${JSON.stringify({ ledger, megabytes: most() - before })}`);
