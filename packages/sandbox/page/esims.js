import { byId, element, setText } from "./element.js";
import { facts } from "./facts.js";
import { listOf } from "./lists.js";

/** @typedef {import("./records.js").Esim} Esim */

const showList = listOf("esims", (/** @type {Esim} */ { esimReference }) => esimReference, createEntry);

/** @type {string | undefined} */
let newestReference;

/**
 * Shows the eSIMs. The chosen one is what the forms of the page are about. A new one becomes it, but not while the focus is in
 * those forms: the next press of a button there is meant for the one that was chosen.
 * @param {readonly Esim[]} esims
 */
export function showEsims(esims) {
  showList(esims);
  const reference = esims[0]?.esimReference;
  const chosen = byId("chosen");
  chosen.hidden = reference === undefined;
  const isNew = reference !== newestReference && !chosen.contains(document.activeElement);
  newestReference = reference;
  if (reference !== undefined && (isNew || chosenEsim() === "")) choose(reference);
}

/**
 * Its esimReference; empty when there is none.
 * @returns {string}
 */
export function chosenEsim() {
  return radios().find(({ checked }) => checked)?.value ?? "";
}

/** @param {string} esimReference */
function choose(esimReference) {
  for (const radio of radios()) radio.checked = radio.value === esimReference;
  setText(byId("chosen-esim"), esimReference);
}

/** @returns {HTMLInputElement[]} */
function radios() {
  return [...byId("esims").querySelectorAll("input")];
}

/** @param {Esim} esim */
function createEntry({ esimReference, iccid }) {
  const radio = element("input", { type: "radio", name: "esimReference", value: esimReference });
  radio.addEventListener("change", () => choose(esimReference));
  const { list, update } = facts("ICCID", "Device", "Line", "Network", "Balance", "Packages", "Port-in");
  return {
    entry: element("li", {}, element("label", {}, radio, ` ${esimReference}`), list),
    /** @param {Esim} esim */
    update({ profileState, lifecycleStatus, country, network, balance, currency, packages, portIn }) {
      const active = packages.filter(({ status }) => status === "active");
      update(
        iccid,
        profileState,
        lifecycleStatus,
        [country, network].filter(Boolean).join(" ") || "none",
        `${(balance / 100).toFixed(2)} ${currency}`,
        active.map(({ planReference }) => planReference).join(", ") || "none",
        portIn === null ? "none" : `${portIn.msisdn} ${portIn.status}`,
      );
    },
  };
}
