import { byId, element, setText } from "./element.js";
import { facts } from "./facts.js";
import { listOf } from "./lists.js";

/** @typedef {import("./records.js").Esim} Esim */

const showList = listOf("esims", (/** @type {Esim} */ { esimReference }) => esimReference, createEntry);

/**
 * Shows the eSIMs. The chosen one is what the forms below the list are about.
 * @param {readonly Esim[]} esims
 */
export function showEsims(esims) {
  showList(esims);
  const [newest] = esims;
  byId("chosen").hidden = newest === undefined;
  if (newest !== undefined && chosenEsim() === "") choose(newest.esimReference);
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
