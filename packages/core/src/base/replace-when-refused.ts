/** The part of an ioredis client that `replaceWhenRefused` uses. */
export interface ReplaceableClient {
  /** The options of ioredis, which reads them at each use. */
  readonly options: {
    /** Decides, for an error of the server, whether to reconnect (1), and to send the command again as well (2). */
    reconnectOnError?: ((error: Error) => boolean | 1 | 2) | null | undefined;
    /** Returns the pause before the n-th attempt to reconnect, in ms. */
    // biome-ignore lint/suspicious/noConfusingVoidType: ioredis has this type
    retryStrategy?: ((attempt: number) => number | void | null) | null | undefined;
    /** How often a command is tried again on a new connection. Null: indefinitely. */
    readonly maxRetriesPerRequest?: number | null | undefined;
  };
  /** The socket. Another one after a reconnect. */
  readonly stream?: {
    /** Sets how many listeners an event may have before Node.js warns. */
    setMaxListeners?(most: number): unknown;
  };
}

/** The errors of a Redis server that is not the primary (any more), or not ready. UNBLOCKED ends a blocking read when the server is demoted. */
const refusal =
  /^(?:CLUSTERDOWN|LOADING|MASTERDOWN|READONLY|UNBLOCKED)\b|-READONLY |^ERR WAIT cannot be used with replica/; // Redis 6 quotes the error inside the error of the script

const againWithinMs = 1000;
/** Each `reconnectOnError` that we have set, and the `retryStrategy` that the client had before. A `duplicate` of a client copies both options. */
const strategies = new WeakMap<object, ReplaceableClient["options"]["retryStrategy"]>();

/**
 * Makes a client reconnect when its server refuses a command because the server is not the primary, or not ready: after a failover, the address
 * may lead to another server, which a connection that stays open never reaches. The command is sent again on the new connection, since a refused
 * command had no effect, except WAIT and WAITAOF. If a command is refused there as well within a second, the address leads to no primary: the
 * error is reported, or a client that waits for Redis indefinitely (`maxRetriesPerRequest: null`) reconnects once a second. Does nothing if the
 * client has a `reconnectOnError` of its own.
 */
export function replaceWhenRefused(client: ReplaceableClient): void {
  const { options } = client;
  const { reconnectOnError } = options;
  if (reconnectOnError && !strategies.has(reconnectOnError)) return;
  const retryStrategy = reconnectOnError ? strategies.get(reconnectOnError) : options.retryStrategy;
  const isPatient = options.maxRetriesPerRequest === null;
  let refused: unknown;
  let refusedAt = Number.NEGATIVE_INFINITY;
  let pauseMs = 0;

  function isReplaced(): boolean {
    if (refused !== undefined && client.stream === refused) return true; // the command was sent before the first refusal was answered
    const isAgain = performance.now() - refusedAt < againWithinMs;
    if (isAgain && !isPatient) return false;
    refused = client.stream;
    client.stream?.setMaxListeners?.(0); // ioredis adds a listener for each refused command
    refusedAt = performance.now();
    pauseMs = isAgain ? againWithinMs : 0;
    return true;
  }

  function reconnectWhenRefused(
    error: Error & { readonly command?: { readonly name?: string } },
  ): false | 1 | 2 {
    if (!refusal.test(error.message) || !isReplaced()) return false;
    // WAIT and WAITAOF concern what was written on their own connection: on another one they would confirm a write that is lost
    return /^wait/i.test(error.command?.name ?? "") ? 1 : 2;
  }

  strategies.set(reconnectWhenRefused, retryStrategy);
  options.reconnectOnError = reconnectWhenRefused;
  if (!isPatient || !retryStrategy) return;
  options.retryStrategy = (attempt) => {
    const ms = retryStrategy(attempt);
    const leastMs = pauseMs;
    pauseMs = 0;
    return typeof ms === "number" ? Math.max(ms, leastMs) : ms;
  };
}
