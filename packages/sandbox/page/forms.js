import { callControl } from "./control.js";
import { byId, element } from "./element.js";
import { chosenEsim } from "./esims.js";

/**
 * Every form of the page is a call of the control side: `data-call` of the pressed button, or of the form, is its method and path.
 * `{esimReference}` in the path is the chosen eSIM. The form's fields are the body's; those that are empty are left out.
 */
export function makeFormsCalls() {
  document.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement) || !(event.submitter instanceof HTMLButtonElement)) return;
    const what = event.submitter.textContent?.trim() ?? "";
    say(`${what} …`);
    try {
      await submit(event.target, event.submitter);
      say(`${what}: done.`);
    } catch (error) {
      say(`${what} failed: ${error instanceof Error ? error.message : error}`, "bad");
    }
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button
 */
async function submit(form, button) {
  const [method = "", pattern = ""] = (button.dataset["call"] ?? form.dataset["call"] ?? "").split(" ");
  const path = pattern.replaceAll("{esimReference}", () => encodeURIComponent(chosenEsim()));
  const answer = await callControl(method, path, method === "DELETE" ? undefined : bodyOf(form, button));
  const file = button.dataset["save"];
  if (file !== undefined) save(file, answer);
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button
 * @returns {unknown}
 */
function bodyOf(form, button) {
  /** @type {Record<string, unknown>} */
  const body = {};
  for (const field of form.elements) {
    const isField =
      field instanceof HTMLInputElement ||
      field instanceof HTMLSelectElement ||
      field instanceof HTMLTextAreaElement;
    if (isField && field.value !== "") body[field.name] = typedValue(field);
  }
  if (button.name !== "") body[button.name] = button.value;
  return body;
}

/**
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} field
 * @returns {unknown}
 */
function typedValue(field) {
  if (field.type === "number") return Number(field.value);
  if (!("json" in field.dataset)) return field.value;
  try {
    return JSON.parse(field.value);
  } catch {
    throw new Error(
      `${field.labels?.[0]?.firstChild?.textContent?.trim()} must be JSON, such as {"iccid": "1"}.`,
    );
  }
}

/**
 * Saves the text as a file of the user.
 * @param {string} name
 * @param {string} text
 */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text]));
  element("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/**
 * @param {string} text
 * @param {string} [look]
 */
function say(text, look = "") {
  const said = byId("said");
  said.textContent = text;
  said.className = look;
}
