/** Changes may come thousands of times a second; nobody reads that fast. */
const pauseMs = 250;

/**
 * Calls `refresh` with each view of the sandbox that has changed, and with all of them at the start: for one at a time, and with
 * a pause between two rounds. `tell` gets the state of the connection in words.
 * @param {(view: string) => Promise<void>} refresh
 * @param {(connection: string) => void} tell
 */
export function whenChanged(refresh, tell) {
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
  live.addEventListener("open", () => tell("Connected: what you see is live."));
  live.addEventListener("error", () => tell("The sandbox does not answer. Trying again …"));
  live.addEventListener("changed", (event) => {
    for (const view of JSON.parse(event.data).views) stale.add(view);
    refreshAll();
  });
}
