import { element, setText } from "./element.js";
import { facts } from "./facts.js";
import { listOf } from "./lists.js";
import { shownTime } from "./shown-time.js";

/** @typedef {import("./records.js").Delivery} Delivery */
/** @typedef {import("./records.js").Attempt} Attempt */

/** @type {Readonly<Record<string, string>>} */
const classOf = { delivered: "good", exhausted: "bad", failed: "bad", pending: "wait", sending: "wait" };

export const showDeliveries = listOf(
  "deliveries",
  (/** @type {Delivery} */ { sequence }) => String(sequence),
  createEntry,
);

/** @param {Delivery} delivery */
function createEntry({ eventId, eventType, payload, webhookEndpointReference }) {
  const status = element("span", {});
  const { list, update } = facts("Attempts", "Answer", "Next attempt", "Endpoint");
  const attempts = element("ol", { "aria-label": "Attempts" });
  const answer = element("pre", {});
  const sent = element("pre", {}, JSON.stringify(payload, null, 2));
  const details = element("details", {}, element("summary", {}, eventId), sent, "Answered:", answer);
  return {
    entry: element("li", {}, element("strong", {}, eventType), " ", status, list, attempts, details),
    /** @param {Delivery} delivery */
    update(delivery) {
      setText(status, delivery.status);
      status.className = classOf[delivery.status] ?? "";
      update(
        String(delivery.attemptNumber),
        String(delivery.httpStatus ?? "none"),
        delivery.nextRetryAt === null ? "none" : shownTime(delivery.nextRetryAt),
        webhookEndpointReference,
      );
      showAttempts(attempts, delivery.attempts ?? []);
      setText(answer, delivery.responseBody ?? "nothing");
    },
  };
}

/**
 * An attempt that has ended stays as it is: only their number changes.
 * @param {HTMLOListElement} list
 * @param {readonly Attempt[]} attempts
 */
function showAttempts(list, attempts) {
  for (const { sentAt, durationMs, httpStatus, error } of attempts.slice(list.childElementCount)) {
    const result = element("span", error === null ? {} : { class: "bad" }, error ?? String(httpStatus));
    list.append(element("li", {}, `${shownTime(sentAt)}: `, result, `, after ${durationMs} ms`));
  }
}
