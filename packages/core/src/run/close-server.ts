import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { hasMethod } from "../base/options.ts";

/** The part of a server of `node:http` or `node:https` that ends it. */
export interface ClosableServer {
  /** Accepts no more connections. Calls back once there is none left. */
  close(done: () => void): unknown;
  /** Closes the connections that have no request now. */
  closeIdleConnections(): void;
  /** Closes all connections, also in the middle of an answer. */
  closeAllConnections(): void;
  /** Adds a listener before others. Without it, answers do not say `Connection: close` while the process stops. */
  prependListener?(
    event: "request",
    listener: (request: IncomingMessage, response: ServerResponse) => void,
  ): unknown;
}

/** The part of a server of `node:http2` that ends it. */
export interface ClosableHttp2Server {
  /** Accepts no more connections. Calls back once there is none left. */
  close(done: () => void): unknown;
  /** Adds a listener for new sessions. */
  on(event: "session", listener: (session: ServerHttp2Session) => void): unknown;
  /** Adds a listener for new connections, which may use HTTP/1 if `allowHTTP1` is set. */
  on(event: "connection", listener: (socket: Socket) => void): unknown;
}

/** A server whose clients can be asked to leave. */
export interface LeavableServer extends ClosableServer {
  /** From now on, each answer asks its client for another connection: by `Connection: close`, or by GOAWAY on HTTP/2. */
  sendAway(): void;
}

/** Watches a server's requests, or its sessions and connections on HTTP/2, so that clients can be asked to leave. Call it before the first connection. */
export function watchServer(server: ClosableServer | ClosableHttp2Server): LeavableServer {
  return hasMethod(server, "closeAllConnections")
    ? watchHttp1(server as ClosableServer)
    : watchHttp2(server as ClosableHttp2Server);
}

function watchHttp1(server: ClosableServer): LeavableServer {
  const open = new Set<ServerResponse>();
  let isLeaving = false;
  server.prependListener?.("request", (_, response) => {
    if (isLeaving) response.shouldKeepAlive = false;
    else open.add(response.once("close", () => open.delete(response)));
  });
  return {
    close: (done) => server.close(done),
    closeIdleConnections: () => server.closeIdleConnections(),
    closeAllConnections: () => server.closeAllConnections(),
    sendAway() {
      isLeaving = true;
      for (const response of open) response.shouldKeepAlive = false;
    },
  };
}

function watchHttp2(server: ClosableHttp2Server): LeavableServer {
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  let isLeaving = false;
  server.on("session", (session) => {
    if (isLeaving) session.once("stream", () => sendGoaway(session)); // after its first request, which is still answered
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return {
    close(done) {
      server.close(done);
      for (const session of sessions) session.close(); // closes once its streams have ended; server.close() of Node.js 22 leaves it open
    },
    closeIdleConnections() {},
    closeAllConnections() {
      for (const socket of sockets) socket.destroy();
    },
    sendAway() {
      isLeaving = true;
      for (const session of sessions) sendGoaway(session);
    },
  };
}

/** Asks for no more streams, and still accepts those under way, by naming the largest possible stream id (RFC 9113, section 6.8). */
function sendGoaway(session: ServerHttp2Session): void {
  if (!session.closed && !session.destroyed) session.goaway(0, 2 ** 31 - 1);
}

/** How long a connection may stay open once all deliveries are answered, in ms: long enough to read the answer. */
const readingMs = 1000;

/**
 * Accepts no more connections, and waits for `answered`. One second later it closes the connections without a request. It closes the others
 * `restMs` after the call, and not before that second has passed.
 */
export async function closeServer(
  server: ClosableServer,
  answered?: Promise<unknown>,
  restMs: number = readingMs,
): Promise<void> {
  const startedAt = performance.now();
  const closed = new Promise<void>((resolve) => server.close(resolve));
  closed.catch(() => {}); // awaited below
  await Promise.allSettled([answered]);
  const leftMs = Math.max(readingMs, restMs - (performance.now() - startedAt));
  const timers = [
    setTimeout(() => server.closeIdleConnections(), readingMs),
    setTimeout(() => server.closeAllConnections(), leftMs),
  ];
  try {
    await closed;
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
