/**
 * Calls `work` at the end of a turn of the event loop, with all items that came in it. Not core's `coalesce`, which answers all
 * items of a flush at once: here each item is answered by itself, without waiting for the others.
 */
export function oncePerTurn<Item>(work: (items: readonly Item[]) => void): (item: Item) => void {
  let items: Item[] = [];
  return (item) => {
    if (items.push(item) > 1) return;
    setImmediate(() => {
      const ofTheTurn = items;
      items = [];
      work(ofTheTurn);
    });
  };
}
