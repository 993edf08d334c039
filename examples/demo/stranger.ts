import { sampleData } from "@esim-webhooks/core/testing";
import { Webhook } from "standardwebhooks";

/** Deliveries that the service does not send, but others may. Signed by an independent library. */
export interface Stranger {
  /** Signed with a secret that is not the endpoint's. */
  forge(): Promise<unknown>;
  /** The body was changed after it was signed. */
  tamper(): Promise<unknown>;
  /** Signed with the endpoint's secret ten minutes ago. */
  replayOld(): Promise<unknown>;
  /** Another body under an id that the receiver knows. */
  reuse(id: string): Promise<unknown>;
}

const minutesMs = 60_000;

export function createStranger(url: string, signingSecret: string): Stranger {
  const stolen = new Webhook(signingSecret);
  const own = new Webhook("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");

  async function send(id: string, { by = stolen, at = new Date(), change = (body: string) => body } = {}) {
    const type = "esim.balance.updated";
    const body = JSON.stringify({ type, timestamp: at.toISOString(), data: sampleData(type) });
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": by.sign(id, at, body),
    };
    await fetch(url, { method: "POST", headers, body: change(body) });
  }

  return {
    forge: () => send("msg_forged", { by: own }),
    tamper: () => send("msg_tampered", { change: (body) => body.replace(/"amount":\d/, '"amount":9') }),
    replayOld: () => send("msg_old", { at: new Date(Date.now() - 10 * minutesMs) }),
    reuse: (id) => send(id),
  };
}
