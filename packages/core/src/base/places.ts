import type { IncomingMessage, ServerResponse } from "node:http";

/** The number of concurrent answers of a handler next to the receiver: far more than probes, a Prometheus and people need. */
const mostInFlight = 32;

/** Places for answers that are being made or written. */
export interface AnswerPlaces {
  /** Takes a place, if one is free, and returns whether there was one. Free it with `leave`. */
  enter(): boolean;
  /** Frees a place. */
  leave(): void;
  /** As `enter`, for a response of Node.js: frees the place once the response is written or its connection has closed. */
  hold(request: IncomingMessage, response: ServerResponse): boolean;
}

/** Bounds the concurrent answers of a handler to which a stranger may send thousands of requests: deliveries wait while it works. */
export function createPlaces(most: number = mostInFlight): AnswerPlaces {
  const held = new Map<ServerResponse, IncomingMessage>();
  let entered = 0;

  function isFull(): boolean {
    if (entered + held.size < most) return false;
    // an answer that waits behind others on its connection emits nothing when the connection closes
    for (const [response, { socket }] of held) if (socket?.destroyed) held.delete(response);
    return entered + held.size >= most;
  }

  return {
    enter() {
      if (isFull()) return false;
      entered += 1;
      return true;
    },
    leave() {
      entered -= 1;
    },
    hold(request, response) {
      if (isFull()) return false;
      held.set(response, request);
      response.once?.("close", () => held.delete(response));
      return true;
    },
  };
}
