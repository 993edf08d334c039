import { element, setText } from "./element.js";
import { facts } from "./facts.js";
import { listOf } from "./lists.js";

/** @typedef {import("./records.js").Endpoint} Endpoint */

export const showEndpoints = listOf(
  "endpoints",
  (/** @type {Endpoint} */ { webhookEndpointReference }) => webhookEndpointReference,
  createEntry,
);

/** @param {Endpoint} endpoint */
function createEntry({ webhookEndpointReference, url }) {
  const { list, update } = facts("State", "Reference", "Signing secret", "Event types");
  const twice = element("p", { class: "bad" });
  const active = element("input", { type: "hidden", name: "active", "data-json": "" });
  const button = element("button", { type: "submit" });
  const call = `PATCH /endpoints/${encodeURIComponent(webhookEndpointReference)}`;
  const form = element(
    "form",
    { "data-call": call, "aria-label": `Change ${webhookEndpointReference} at ${url}` },
    active,
    button,
  );
  return {
    entry: element("li", {}, element("strong", {}, url), twice, list, form),
    /** @param {Endpoint} endpoint */
    update(endpoint) {
      update(
        endpoint.active ? "active" : "inactive",
        webhookEndpointReference,
        endpoint.signingSecret,
        endpoint.eventTypes.join(", "),
      );
      twice.hidden = endpoint.sameUrl.length === 0;
      setText(
        twice,
        `${endpoint.sameUrl.join(", ")} has the same URL: events arrive twice. Set one of them inactive, or delete it.`,
      );
      active.value = String(!endpoint.active);
      setText(button, endpoint.active ? "Set inactive" : "Set active");
    },
  };
}
