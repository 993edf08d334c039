import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { Agent, type Dispatcher } from "undici";
import type { DeliveryFault } from "../base/fault.ts";
import type { Answer } from "./attempt.ts";

/** A POST request of a delivery. */
export interface DeliveryRequest {
  readonly url: string;
  /** With the `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** `cut`, `half_open` and `slow` are faults of the body. */
  readonly fault: DeliveryFault | undefined;
  /** The time after which an answer is too late: ms of `performance.now()`. */
  readonly deadline: number;
}

export interface HttpClient {
  /** Resolves to the answer if its status arrives before the deadline, otherwise to the error. Never rejects. */
  post(request: DeliveryRequest): Promise<Answer>;
  /** Closes all connections, which ends the requests under way. */
  close(): Promise<void>;
}

const keptBytes = 4096;
const readBytes = 64 * 1024;

export function createHttpClient(): HttpClient {
  const agent = new Agent({
    // the deadline is a single timer of ours for the whole request
    connect: { timeout: 0 },
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  function post({ url, headers, body, fault, deadline }: DeliveryRequest): Promise<Answer> {
    return new Promise((resolve) => {
      let controller: Dispatcher.DispatchController | undefined;
      let status: number | undefined;
      let location: string | undefined;
      const chunks: Buffer[] = [];
      let received = 0;
      let isOver = false;

      function end(error: string): void {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        if (status === undefined)
          resolve({ httpStatus: null, responseBody: null, location: undefined, error });
        else {
          const responseBody = Buffer.concat(chunks).toString("utf8", 0, keptBytes);
          resolve({ httpStatus: status, responseBody, location, error: null });
        }
      }
      function giveUp(): void {
        end("no answer in time");
        controller?.abort(new Error("The endpoint took too long."));
      }
      const timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()));

      try {
        const { origin, pathname, search } = new URL(url);
        agent.dispatch(
          {
            origin,
            path: pathname + search,
            method: "POST",
            headers,
            body: faulted(body, fault),
          },
          {
            onRequestStart(started) {
              controller = started;
              if (isOver) giveUp(); // it was waiting for its connection until now
            },
            onResponseStart(_controller, code, responseHeaders) {
              if (code < 200) return; // only a hint: the answer follows
              status = code;
              if (typeof responseHeaders["location"] === "string") location = responseHeaders["location"];
            },
            onResponseData(_controller, chunk) {
              if (received < keptBytes) chunks.push(chunk);
              received += chunk.byteLength;
              if (received > readBytes) giveUp();
            },
            onResponseEnd: () => end("no answer"),
            onResponseError: (_controller, error) => end(messageOf(error)),
          },
        );
      } catch (error) {
        end(messageOf(error)); // not a URL that undici accepts
      }
    });
  }

  return { post, close: () => agent.destroy() };
}

/** Returns an error's message. For a host with several addresses, the message for the first address. */
function messageOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}

function faulted(body: Buffer, fault: DeliveryFault | undefined): Buffer | Readable {
  if (fault?.kind === "cut") return Readable.from(firstHalf(body));
  if (fault?.kind === "half_open") return unfinished(body);
  if (fault?.kind === "slow") return Readable.from(slowly(body, fault.bytesPerSecond));
  return body;
}

const half = (body: Buffer): Buffer => body.subarray(0, body.byteLength >> 1);

/** The first half of the body, then an error, which closes the connection. */
async function* firstHalf(body: Buffer): AsyncGenerator<Buffer> {
  yield half(body);
  throw new Error("The connection is cut by a fault.");
}

/** The first half of the body, and no end. Without a part of the body, the headers would not be sent either. */
function unfinished(body: Buffer): Readable {
  const stream = new Readable({ read() {} });
  stream.push(half(body));
  return stream;
}

async function* slowly(body: Buffer, bytesPerSecond: number): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.floor(bytesPerSecond / 10));
  for (let start = 0; start < body.byteLength; start += size) {
    yield body.subarray(start, start + size);
    await wait((size / bytesPerSecond) * 1000);
  }
}
