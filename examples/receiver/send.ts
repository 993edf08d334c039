// npm run send -- <event type> [url]: sends a signed delivery with sample data, and prints the answer.
import { esimCatalog, WebhookError } from "@esim-webhooks/core";
import { type SignedRequest, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { sharedSecret } from "./shared-secret.ts";

const [name, url = "http://127.0.0.1:3000/webhooks"] = process.argv.slice(2);

function signed(): SignedRequest {
  const secret = process.env["ESIM_WEBHOOK_SECRET"] || sharedSecret();
  const type = esimCatalog.types.find((known) => known === name);
  if (type === undefined) {
    const problem =
      name === undefined
        ? "There is nothing to send: npm run send -- <type>."
        : `There is no event type "${name}".`;
    fail(`${problem} Name one of: ${esimCatalog.types.join(", ")}.`);
  }
  try {
    return signedRequest({ type, data: sampleData(type) }, { secret });
  } catch (error) {
    if (!WebhookError.is(error)) throw error;
    fail(`ESIM_WEBHOOK_SECRET: ${error.message}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

const request = signed();
try {
  const response = await fetch(url, request);
  console.log(`${response.status} ${await response.text()}`);
  if (!response.ok) process.exitCode = 1;
  if (response.status === 401) console.error("Set ESIM_WEBHOOK_SECRET to the receiver's secret.");
} catch {
  console.error(`Nothing answers at ${url}. Start a receiver with npm start.`);
  process.exitCode = 1;
}
