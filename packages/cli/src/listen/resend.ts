import type { ApiErrorCode, WebhookDelivery } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { printable } from "@esim-webhooks/core/log-lines";
import { readDeliveries } from "@esim-webhooks/endpoint";
import { exitCodes } from "../program/exit-code.ts";
import { hintOf } from "../send/expectation.ts";
import { post } from "../send/post.ts";
import { printPosting } from "./posting-view.ts";
import { isAccepted, type Posting } from "./relay.ts";
import { type Session, signedDelivery } from "./session.ts";

/** Posts one event once. Ends with 3 if it was not accepted. Rejects with `not_found` or `no_answer`. */
export async function resend(session: Session, id: string): Promise<void> {
  const { context, flags, url, secret } = session;
  const delivery = await findDelivery(session, id);
  context.output.note(`Posting ${printable(id)} to ${url}.`);
  const request = signedDelivery(delivery, await secret());
  const result = request && (await post(url, request, "--to"));
  const state: Posting["state"] = result !== undefined && isAccepted(result) ? "accepted" : "given_up";
  printPosting({ delivery, result, attempt: 1, state }, context.output, flags);
  if (state === "accepted") return;
  context.process.exitCode = exitCodes.problem;
  const hint = result && hintOf(result, "--to");
  if (hint !== undefined) context.output.note(hint);
}

async function findDelivery({ api, endpoint }: Session, id: string): Promise<WebhookDelivery> {
  const { webhookEndpointReference: reference } = endpoint;
  for await (const { deliveries } of readDeliveries(api, reference)) {
    const found = deliveries.find(({ eventId }) => eventId === id);
    if (found !== undefined) return found;
  }
  throw new WebhookError<ApiErrorCode>(
    "not_found",
    `The listing of ${printable(reference)} has no delivery ${printable(id)}.`,
    `It goes back 7 days. esim-webhooks api deliveries ${printable(reference)} shows the ids.`,
  );
}
