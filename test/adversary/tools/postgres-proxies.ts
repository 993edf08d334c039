import { startProxy } from "../../servers/index.ts";

/** Whether a connection begins with a request to cancel, and not as that of a client does. */
function isCancelRequest(first: Buffer): boolean {
  return first.readInt32BE(4) === 80877102;
}

/** A proxy to a Postgres that counts the backends of its clients. */
export async function countingProxy(url: string) {
  let [open, most, connected] = [0, 0, 0];
  const proxy = await startProxy(
    { url },
    {
      opened(first) {
        if (isCancelRequest(first)) return "pass";
        connected += 1;
        open += 1;
        most = Math.max(most, open);
        return "pass";
      },
      closed(first) {
        if (!isCancelRequest(first)) open -= 1;
      },
    },
  );
  return {
    ...proxy,
    /** The most connections of clients at a time. */
    backends: () => most,
    /** All such connections so far. */
    connected: () => connected,
  };
}

/** A proxy to a Postgres that passes no request to cancel on, and leaves their connections open. */
export async function cancelHoldingProxy(url: string) {
  let held = 0;
  const proxy = await startProxy(
    { url },
    {
      opened(first) {
        if (!isCancelRequest(first)) return "pass";
        held += 1;
        return "hold";
      },
    },
  );
  return { ...proxy, held: () => held };
}
