import type { DeliveryAttempt } from "@esim-webhooks/sandbox";
import { maskSecrets } from "../masking/mask-secrets.ts";
import { shortened } from "../masking/shortened.ts";
import type { Output } from "../program/output.ts";
import { printable } from "../program/printable.ts";
import { codeOf } from "../send/post.ts";
import { span } from "../terminal/quantities.ts";

/**
 * An attempt to deliver an event: `12:00:01  ✔ 200 processed  esim.assigned  msg_1  eSIM 7301…  12 ms  to http://127.0.0.1:3000/webhooks`.
 * Without an answer, the error of the connection follows on a line of its own.
 */
export function attemptLine(attempt: DeliveryAttempt, output: Output): string {
  const { eventType, eventId, esimReference, url, attemptNumber, httpStatus, error, durationMs } = attempt;
  const { status, responseBody, retryInMs } = attempt;
  const [mark, colour] =
    status === "delivered"
      ? (["✔", "green"] as const)
      : retryInMs === null
        ? (["✘", "red"] as const)
        : (["!", "yellow"] as const);
  const answer =
    httpStatus === null
      ? "no answer"
      : [httpStatus, codeOf({ body: responseBody ?? "" }) ?? []].flat().join(" ");
  const columns = [
    output.style("dim", new Date().toTimeString().slice(0, 8)),
    output.style(colour, `${mark} ${answer.padEnd(18)}`),
    printable(eventType),
    printable(eventId),
    ...(esimReference === null ? [] : [`eSIM ${printable(shortened(esimReference))}`]),
    ...(attemptNumber === 1 ? [] : [`attempt ${attemptNumber}`]),
    output.style("dim", `${durationMs} ms  to ${shortened(maskSecrets(url))}`),
    ...(retryInMs === null ? [] : [output.style("yellow", `again in ${span(retryInMs)}`)]),
  ];
  const line = columns.join("  ");
  return error === null ? line : `${line}\n          ${printable(shortened(error))}`;
}
