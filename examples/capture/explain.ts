import { readFile } from "node:fs/promises";
import { explainVerification } from "@esim-webhooks/core/explain";

const { headers, body, receivedAt } = JSON.parse(
  await readFile(process.env["CAPTURED"] ?? "captured.json", "utf8"),
);
const delivery = { headers, body: Buffer.from(body, "base64") };
const secret = process.env["ESIM_WEBHOOK_SECRET"] ?? "";
const { verdict, findings } = explainVerification(delivery, secret, { at: new Date(receivedAt) });
console.log(verdict.ok ? "authentic" : verdict.reason);
for (const { code, message } of findings) console.log(`${code}: ${message}`);
