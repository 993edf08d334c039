import { element, setText } from "./element.js";

/**
 * A list of names and values, and the function that updates the values: one for each name, in the same order.
 * @param {...string} names
 * @returns {{ readonly list: HTMLDListElement, update(...texts: readonly string[]): void }}
 */
export function facts(...names) {
  const values = names.map(() => element("dd", {}));
  const pairs = values.map((value, index) =>
    element("div", {}, element("dt", {}, /** @type {string} */ (names[index])), value),
  );
  return {
    list: element("dl", {}, ...pairs),
    update(...texts) {
      for (const [index, value] of values.entries()) setText(value, texts[index] ?? "");
    },
  };
}
