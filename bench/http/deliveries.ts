// The deliveries of the http bench: the same bodies, signed in the scheme of each peer.
import { createHmac, randomUUID } from "node:crypto";
import { sampleData, signedRequest } from "@esim-webhooks/core/testing";
import type { Request } from "../load.ts";

/** Makes one delivery with an id of its own and a body of exactly `bytes`. */
export type MakeDelivery = (secret: string, bytes: number) => Request;

export const standardWebhook: MakeDelivery = (secret, bytes) =>
  signedRequest({ type: "esim.faulted", data: dataOf(bytes) }, { secret });

/** As GitHub signs: over the body alone, with SHA-256, and with SHA-1 for receivers of before. */
export const githubWebhook: MakeDelivery = (secret, bytes) => {
  const { body } = standardWebhook(signingSecret, bytes);
  const sign = (hash: string) => createHmac(hash, secret).update(body).digest("hex");
  return {
    headers: {
      "content-type": "application/json",
      "x-github-event": "push",
      "x-github-delivery": randomUUID(),
      "x-hub-signature": `sha1=${sign("sha1")}`,
      "x-hub-signature-256": `sha256=${sign("sha256")}`,
    },
    body,
  };
};

const signingSecret = `whsec_${Buffer.alloc(32).toString("base64")}`;

/** The data of an esim.faulted whose body has `bytes` bytes. */
function dataOf(bytes: number) {
  const data = { ...sampleData("esim.faulted"), detail: "" };
  const least = JSON.stringify({ type: "esim.faulted", timestamp: new Date().toISOString(), data }).length;
  const missing = Math.max(0, bytes - least);
  const detail = "provider code 8.1.1/3.8, order refused; ".repeat(Math.ceil(missing / 40)).slice(0, missing);
  return { ...data, detail };
}
