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

  it("reads 16 MiB more and cuts the connection at the byte after, or 5 s after the answer", () => {
    const open = () => {
      const request = new IncomingMessage(new Socket());
      discardRest(request, new AbortController().signal);
      return request;
    };
    const [large, slow] = [open(), open()];
    expect(slow.readableFlowing).toBe(true);
    large.emit("data", Buffer.alloc(16 * 1024 * 1024));
    expect(large.destroyed).toBe(false);
    large.emit("data", Buffer.alloc(1));
    expect(large.destroyed).toBe(true);
    vi.advanceTimersByTime(4_999);
    expect(slow.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(slow.destroyed).toBe(true);
  });

  it("leaves nothing behind once the connection has closed, also after an error", () => {
    const closing = new AbortController();
    const request = new IncomingMessage(new Socket());
    discardRest(request, closing.signal);
    expect([getEventListeners(closing.signal, "abort").length, vi.getTimerCount()]).toEqual([1, 1]);
    request.emit("error", new Error("read ECONNRESET"));
    request.emit("close");
    expect([getEventListeners(closing.signal, "abort").length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("leaves nothing behind for a request that has ended without its body", () => {
    const closing = new AbortController();
    discardRest(new IncomingMessage(new Socket()).destroy(), closing.signal);
    expect(getEventListeners(closing.signal, "abort")).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
