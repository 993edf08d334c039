import { getEventListeners } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { discardRest } from "@esim-webhooks/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

describe("discardRest", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("cuts the connection once the answer is written when the receiver has closed already", () => {
    const request = new IncomingMessage(new Socket());
    discardRest(request, AbortSignal.abort());
    expect(request.destroyed).toBe(false); // Fastify writes the answer only now
    vi.advanceTimersByTime(1);
    expect(request.destroyed).toBe(true);
  });

  it("leaves nothing behind for a request that has ended without its body", () => {
    const closing = new AbortController();
    discardRest(new IncomingMessage(new Socket()).destroy(), closing.signal);
    expect(getEventListeners(closing.signal, "abort")).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
