import type { ReceiverOptions, Target } from "@esim-webhooks/core";

/** A server with the adapter under test. */
export interface RunningServer {
  /** The full URL of the endpoint. */
  readonly url: string;
  /** Closes the receiver. The server keeps listening, and deliveries are answered 503. */
  shutDown(): Promise<void>;
  /** Stops the server. */
  close(): Promise<void>;
}

/** A host's own middleware: it takes its time, and leaves the request alone. */
export type Middleware = () => Promise<void>;

/**
 * Starts a server on a free port of the loopback interface. Called once for each test.
 * @param before awaited for each request, before the adapter gets it
 */
export type StartServer = (
  target: Target,
  options: ReceiverOptions,
  before: Middleware,
) => Promise<RunningServer>;

/** Runs `use` with a new server, and stops it in any case. */
export type WithServer = <T>(
  target: Target,
  options: ReceiverOptions,
  use: (server: RunningServer) => Promise<T>,
  before?: Middleware,
) => Promise<T>;
