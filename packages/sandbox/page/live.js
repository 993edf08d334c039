/** Changes may come thousands of times a second; nobody reads that fast. */
const pauseMs = 250;

/**
 * Calls `refresh` with each view of the sandbox that has changed, and with all of them at the start: for one at a time, and with
 * a pause between two rounds. `onConnection` gets the state of the connection in words, and whether it works.
 * @param {(view: string) => Promise<void>} refresh
 * @param {(connection: string, isUp: boolean) => void} onConnection
 */
export function whenChanged(refresh, onConnection) {
  /** @type {Set<string>} */
  const stale = new Set();
  let isRefreshing = false;

  async function refreshAll() {
    if (isRefreshing) return;
    isRefreshing = true;
    while (stale.size > 0) {
      const views = [...stale];
      stale.clear();
      // a view that cannot be read is read again when the connection is back: the feed then names all views
      for (const view of views) await refresh(view).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    isRefreshing = false;
  }

  const live = new EventSource("live");
  live.addEventListener("open", () => onConnection("Connected: what you see is live.", true));
  live.addEventListener("error", () => onConnection("The sandbox does not answer. Trying again …", false));
  live.addEventListener("changed", (event) => {
    for (const view of JSON.parse(event.data).views) stale.add(view);
    refreshAll();
  });
}
