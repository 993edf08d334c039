// npm run bench -- verify: from raw bytes to a typed event, compared with standardwebhooks and with bare createHmac and JSON.parse.
import { createHmac, createSecretKey } from "node:crypto";
import { createKeyring, esimCatalog, sign, verify } from "@esim-webhooks/core";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import { Webhook } from "standardwebhooks";
import { interleaved, type Measured, ratio } from "./measure.ts";

const secret = newSecret();
const keyring = createKeyring(secret);
const oracle = new Webhook(secret);
const rawKey = createSecretKey(Buffer.from(secret.slice("whsec_".length), "base64"));

/** A valid esim.faulted whose body has about `size` bytes. */
function deliveryOf(size: number) {
  const sample = { ...sampleData("esim.faulted"), detail: "" };
  const event = { type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data: sample };
  const missing = Math.max(0, size - JSON.stringify(event).length);
  const detail = "provider code 8.1.1/3.8, order refused; ".repeat(Math.ceil(missing / 40)).slice(0, missing);
  const body = Buffer.from(JSON.stringify({ ...event, data: { ...event.data, detail } }));
  return { body, headers: { ...sign({ id: "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", body }, secret) } };
}

export async function benchVerify(): Promise<void> {
  for (const size of [300, 2_000, 20_000]) {
    const { body, headers } = deliveryOf(size);
    const prefix = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`;
    const results = interleaved({
      "verify + parse + validate": () => {
        const proof = verify({ headers, body }, keyring);
        if (!proof.ok || esimCatalog.parse(proof.id, body).kind !== "known") throw new Error("not verified");
      },
      "standardwebhooks verify()": () => {
        oracle.verify(body, headers);
      },
      "bare createHmac + JSON.parse": () => {
        createHmac("sha256", rawKey).update(prefix).update(body).digest();
        JSON.parse(body.toString());
      },
    });
    const [ours, peer, bare] = results as [Measured, Measured, Measured];
    console.log(`\n${body.byteLength} bytes`);
    for (const { name, nanoseconds } of results)
      console.log(`  ${name.padEnd(30)} ${(nanoseconds / 1000).toFixed(2).padStart(8)} µs`);
    console.log(`  as fast as standardwebhooks    ${ratio(peer, ours)} ×`);
    console.log(`  time of the bare floor         ${ratio(ours, bare)} ×`);
  }
}
