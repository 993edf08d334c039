import { element, setText } from "./element.js";
import { facts } from "./facts.js";
import { listOf } from "./lists.js";

/** @typedef {import("./records.js").Delivery} Delivery */

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
  const answer = element("pre", {});
  const sent = element("pre", {}, JSON.stringify(payload, null, 2));
  const details = element("details", {}, element("summary", {}, eventId), sent, "Answered:", answer);
  return {
    entry: element("li", {}, element("strong", {}, eventType), " ", status, list, details),
    /** @param {Delivery} delivery */
    update(delivery) {
      setText(status, delivery.status);
      status.className = classOf[delivery.status] ?? "";
      update(
        String(delivery.attemptNumber),
        String(delivery.httpStatus ?? "none"),
        delivery.nextRetryAt ?? "none",
        webhookEndpointReference,
      );
      setText(answer, delivery.responseBody ?? "nothing");
    },
  };
}
