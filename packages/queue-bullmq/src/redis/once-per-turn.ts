/** Calls `work` at the end of a turn of the event loop, with all items that came in it. */
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
