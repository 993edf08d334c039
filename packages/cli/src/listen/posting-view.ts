import type { WebhookDelivery } from "@esim-webhooks/client";
import { idPattern, maskEvent, span } from "@esim-webhooks/core/internal";
import { printable, printableJson } from "@esim-webhooks/core/log-lines";
import { shortened } from "@esim-webhooks/core/masking";
import type { Output } from "../program/context.ts";
import { type Answer, codeOf, type NoAnswer } from "../send/post.ts";
import type { ListenFlags } from "./flags.ts";
import type { Posting } from "./relay.ts";

/** How events are shown. Payloads are shown only if a flag asks for them. */
type PostingFlags = Pick<ListenFlags, "json" | "payloads" | "reveal">;

const looks = {
  accepted: ["✔", "green"],
  retrying: ["!", "yellow"],
  given_up: ["✘", "red"],
} as const;

/** Prints an attempt: `12:00:01  ✔ 202 stored          esim.faulted  msg_1  37 ms`. */
export function printPosting(posting: Posting, output: Output, flags: PostingFlags): void {
  const { delivery, result, attempt, state, retryInMs } = posting;
  const { eventId: id, eventType: type } = delivery;
  // a later attempt has the same payload
  const payload = attempt === 1 ? shownPayload(delivery, flags) : undefined;
  if (flags.json) {
    output.json({
      id,
      type,
      attempt,
      ...(result === undefined ? { problem: `no_${missingOf(delivery)}` } : jsonOf(result)),
      state,
      ...(retryInMs !== undefined && { retryInMs }),
      ...(payload !== undefined && { payload }),
    });
    return;
  }
  const [mark, colour] = looks[state];
  const columns = [
    output.style("dim", new Date().toTimeString().slice(0, 8)),
    output.style(
      colour,
      `${mark} ${(result === undefined ? `no ${missingOf(delivery)}` : answerText(result)).padEnd(18)}`,
    ),
    printable(shortened(type ?? "")),
    printable(shortened(id ?? "")),
    ...(result === undefined ? [] : [output.style("dim", `${result.ms} ms`)]),
    ...(retryInMs === undefined ? [] : [output.style("yellow", `again in ${span(retryInMs)}`)]),
  ];
  output.data(columns.join("  "));
  if (payload !== undefined) output.data(`          ${printableJson(payload)}`);
}

function jsonOf(result: Answer | NoAnswer): object {
  if (!("status" in result)) return { status: null, problem: result.reason, ms: result.ms };
  const code = codeOf(result);
  return { status: result.status, ...(code !== undefined && { code }), ms: result.ms };
}

/** The field that the listing does not show, or not as it can be sent, so that the event cannot be posted. */
function missingOf({ eventId }: WebhookDelivery): "id" | "body" {
  return eventId === null || !idPattern.test(eventId) ? "id" : "body";
}

function answerText(result: Answer | NoAnswer): string {
  if (!("status" in result)) return result.reason === "late" ? "no answer in time" : "connection broken";
  return [result.status, codeOf(result) ?? []].flat().join(" ");
}

function shownPayload({ payload }: WebhookDelivery, { payloads, reveal }: PostingFlags): unknown {
  if (reveal) return payload;
  return payloads ? maskEvent(payload) : undefined;
}
