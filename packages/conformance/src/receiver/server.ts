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

/** Starts a server on a free port of the loopback interface. Called once for each test. */
export type StartServer = (target: Target, options: ReceiverOptions) => Promise<RunningServer>;

/** Runs `use` with a new server, and stops it in any case. */
export type WithServer = <T>(
  target: Target,
  options: ReceiverOptions,
  use: (server: RunningServer) => Promise<T>,
) => Promise<T>;
