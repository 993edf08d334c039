// npm run send -- <event type> [url]: sends a signed delivery with sample data, and prints the answer.
import { esimCatalog } from "@esim-webhooks/core";
import { sampleData, signedRequest } from "@esim-webhooks/core/testing";

const [name, url = "http://127.0.0.1:3000/webhooks"] = process.argv.slice(2);
const secret = process.env["ESIM_WEBHOOK_SECRET"] || undefined;
const type = esimCatalog.types.find((known) => known === name);

if (secret === undefined || type === undefined) {
  console.error(
    secret === undefined
      ? "There is no secret to sign with. Set ESIM_WEBHOOK_SECRET to the receiver's secret."
      : `There is no event type "${name ?? ""}". Name one of: ${esimCatalog.types.join(", ")}.`,
  );
  process.exit(2);
}

const request = signedRequest({ type, data: sampleData(type) }, { secret });
try {
  const response = await fetch(url, request);
  console.log(`${response.status} ${await response.text()}`);
} catch {
  console.error(`Nothing answers at ${url}. Start a receiver with npm start.`);
  process.exitCode = 1;
}
