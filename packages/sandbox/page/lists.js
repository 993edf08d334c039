import { byId } from "./element.js";

/**
 * @template Item
 * @typedef {{ readonly entry: HTMLLIElement, update(item: Item): void }} Entry
 */

/**
 * Shows items in the list `id`, in their order, and the paragraph `no-<id>` when there are none. The entry of an item that stays
 * is updated in place, so that focus, choices and what is unfolded stay.
 * @template Item
 * @param {string} id
 * @param {(item: Item) => string} keyOf
 * @param {(item: Item) => Entry<Item>} createEntry
 * @returns {(items: readonly Item[]) => void}
 */
export function listOf(id, keyOf, createEntry) {
  const list = byId(id);
  /** @type {Map<string, Entry<Item>>} */
  const shown = new Map();
  return (items) => {
    byId(`no-${id}`).hidden = items.length > 0;
    const keys = new Set(items.map(keyOf));
    for (const [key, { entry }] of shown) {
      if (keys.has(key)) continue;
      entry.remove();
      shown.delete(key);
    }
    for (const [index, item] of items.entries()) {
      const one = shown.get(keyOf(item)) ?? createEntry(item);
      shown.set(keyOf(item), one);
      one.update(item);
      if (list.children[index] !== one.entry) list.insertBefore(one.entry, list.children[index] ?? null);
    }
  };
}
