import { createReceiver, type ReceiverOptions, type Secret } from "@esim-webhooks/core";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";

/** A receiver with the secret, its log lines, and a function that delivers an event and resolves to the outcome's code. */
export function receiving(secret: Secret, options: ReceiverOptions = {}) {
  const lines: Record<string, unknown>[] = [];
  const log = (fields: Record<string, unknown>, message: string) => void lines.push({ ...fields, message });
  const logger = loggerTo(log);
  const receiver = createReceiver({ "*": () => {} }, { secret, logger, ...options });
  const receive = async (signedWith: string, at = new Date()) => {
    const { method, headers, body } = signedDelivery(signedWith, { type: "esim.assigned" }, { at });
    const reply = await receiver.receive({ method, headers, body: Buffer.from(body) });
    const { outcome, code } = JSON.parse(reply.body);
    return outcome ?? code;
  };
  return { receive, lines };
}
