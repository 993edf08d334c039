// In the place of `receiver/wire.ts` of the conformance package, for a suite that runs on workerd: its connections are made by the test's
// own process, at `wireUrl`.
import type { Socket } from "node:net";
import type { Answer, WireRequest } from "../../conformance/src/receiver/wire.ts";

let wireUrl = "";

export function setWireUrl(url: string): void {
  wireUrl = url;
}

async function call<Result>(name: string, ...args: unknown[]): Promise<Result> {
  const response = await fetch(wireUrl, { method: "POST", body: JSON.stringify({ name, args }) });
  const { result, error } = (await response.json()) as { result: Result; error?: string };
  if (error !== undefined) throw new Error(error);
  return result;
}

export function send(url: string, { body, ...request }: WireRequest): Promise<Answer> {
  // a Buffer knows how to be JSON
  const bytes = body instanceof Uint8Array ? Buffer.from(body) : body;
  return call("send", url, { ...request, ...(bytes !== undefined && { body: bytes }) });
}

export async function sendHalf(...args: [string, Record<string, string>, string, number]): Promise<Socket> {
  const id = await call<number>("sendHalf", ...args);
  const later = (name: string) => (text?: string) => void call(name, id, text);
  const socket = {
    id,
    write: later("write"),
    destroy: later("destroy"),
    resetAndDestroy: later("resetAndDestroy"),
  };
  return socket as unknown as Socket;
}

export function answerOn(socket: Socket): Promise<Answer> {
  return call("answerOn", (socket as unknown as { id: number }).id);
}
