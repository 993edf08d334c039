import { isUint8Array } from "node:util/types";
import type { Awaitable } from "../base/awaitable.ts";
import { byteBuffer } from "../base/byte-buffer.ts";
import type { HeaderReader } from "../verify/headers.ts";
import { bodyBytes, notRaw } from "../verify/signature.ts";
import type { BodyFault, BodyStream, Delivery } from "./delivery.ts";
import { createHashSchedule } from "./hash-schedule.ts";

/** The limits of bodies that are not verified yet, since any client may have sent them. */
export interface BodyBounds {
  readonly maxBodyBytes: number;
  /** The most memory of all bodies together, in bytes. */
  readonly maxUnverifiedBytes: number;
  /** The time for one body to arrive, in ms. In each quarter of it, 4 KiB must arrive, or the rest. */
  readonly bodyTimeoutMs: number;
}

/** The bytes of a whole body. */
export interface WholeBody {
  readonly bytes: Uint8Array;
  /** Whether they are a copy that the intake has made of several chunks. No other code has this copy. */
  readonly isOwnCopy: boolean;
}

/**
 * Reads a body within the bounds. Returns its bytes when they may be hashed, or why there are none: without a promise if all
 * bytes are there and may be hashed now. A body that is neither bytes nor text, such as a parsed object, is `body_consumed`.
 */
export type BodyIntake = (body: Delivery["body"], header: HeaderReader) => Awaitable<WholeBody | BodyFault>;

/** A body that is being read, or that waits to be hashed. It counts towards `maxUnverifiedBytes`. */
interface PendingBody {
  /** How much memory it holds. */
  heldBytes: number;
  /** Sets `heldBytes`. While all pending bodies together then exceed the budget, the largest of them is finished as `overloaded`. */
  hold(bytes: number): void;
  /** Ends the wait, with the body's bytes or its fault. Only the first call has an effect. */
  finish(result: WholeBody | BodyFault): void;
  /** Finishes with these bytes once they may be hashed. */
  finishWhenHashable(whole: WholeBody): void;
}

const leastBytes = 4 * 1024;

/**
 * Creates the intake of a receiver. It favours small bodies, as most authentic ones are, over large ones: when all bodies together exceed their
 * budget, the largest is given up; of several equally large ones, the oldest.
 */
export function createBodyIntake({
  maxBodyBytes,
  maxUnverifiedBytes,
  bodyTimeoutMs,
}: BodyBounds): BodyIntake {
  const pending = new Set<PendingBody>(); // the oldest first
  let heldBytes = 0; // by all of them
  const hashing = createHashSchedule();
  const overloaded: BodyFault = {
    code: "overloaded",
    reason: `all bodies that are not verified yet have more than maxUnverifiedBytes (${maxUnverifiedBytes}) together, and this was the largest`,
  };

  function addPending(onFinish: PendingBody["finish"]): PendingBody {
    let withdraw = () => {};
    const body: PendingBody = {
      heldBytes: 0,
      hold(bytes) {
        heldBytes += bytes - body.heldBytes;
        body.heldBytes = bytes;
        while (heldBytes > maxUnverifiedBytes) largestOf(pending).finish(overloaded);
      },
      finish(result) {
        if (!pending.delete(body)) return;
        withdraw();
        heldBytes -= body.heldBytes;
        onFinish(result);
      },
      finishWhenHashable(whole) {
        withdraw = hashing.wait(whole.bytes.byteLength, () => body.finish(whole));
      },
    };
    pending.add(body);
    return body;
  }

  function tooLarge(announcedBytes: number): BodyFault {
    const length = announcedBytes > maxBodyBytes ? `${announcedBytes} bytes` : "more bytes than that";
    return {
      code: "too_large",
      reason: `maxBodyBytes is ${maxBodyBytes}, and the body has ${length}: raise the option if the sender's bodies are that long`,
    };
  }

  function readStream(start: BodyStream, announcedBytes: number): Promise<WholeBody | BodyFault> {
    return new Promise((resolve) => {
      const buffer = byteBuffer(maxBodyBytes);
      let isReading = true;
      let first: Uint8Array | undefined;
      let stop = () => {};
      const body = addPending((result) => {
        if (isReading) stopReading();
        resolve(result);
      });
      const timer = watchPace(bodyTimeoutMs, buffer.size, (reason) => fail(incomplete(reason)));
      const endReading = () => {
        isReading = false;
        clearInterval(timer);
      };
      const stopReading = () => {
        endReading();
        stop();
      };
      const fail = (fault: BodyFault) => isReading && body.finish(fault);
      stop = start({
        add(chunk) {
          if (!isReading) return;
          first ??= chunk;
          if (buffer.add(chunk)) body.hold(buffer.allocated());
          else fail(tooLarge(announcedBytes));
        },
        end() {
          if (!isReading) return;
          // a fetch body whose client has left may end without an error
          if (announcedBytes > 0 && buffer.size() === 0) return fail(incomplete(clientLeft));
          endReading();
          const bytes = buffer.bytes();
          const whole = { bytes, isOwnCopy: first !== undefined && bytes !== first };
          if (hashing.tryAdmit(bytes.byteLength)) body.finish(whole);
          else body.finishWhenHashable(whole);
        },
        abandon: () => fail(incomplete(clientLeft)),
        consumed: (hint) => fail({ code: "body_consumed", hint }),
      });
    });
  }

  function takeBytes(bytes: Uint8Array, announcedBytes: number): Awaitable<WholeBody | BodyFault> {
    if (bytes.byteLength > maxBodyBytes) return tooLarge(announcedBytes);
    const whole = { bytes, isOwnCopy: false };
    if (hashing.tryAdmit(bytes.byteLength)) return whole;
    return new Promise((resolve) => {
      const body = addPending(resolve);
      body.hold(bytes.byteLength);
      body.finishWhenHashable(whole);
    });
  }

  return (body, header) => {
    if (typeof body !== "function") {
      const isRaw = typeof body === "string" || isUint8Array(body);
      // a caller without types may pass a parsed body
      return isRaw
        ? takeBytes(bodyBytes(body), Number.NaN)
        : { code: "body_consumed", hint: notRaw(body).join(" ") };
    }
    const announcedBytes = Number(header("content-length")); // NaN if there is none
    if (announcedBytes > maxBodyBytes) return tooLarge(announcedBytes);
    const read = body();
    return typeof read === "function" ? readStream(read, announcedBytes) : takeBytes(read, announcedBytes);
  };
}

/**
 * Frees the memory of a refused body that the intake has copied together: its bytes are empty from then on. Otherwise V8
 * collects its whole heap for each 64 MB of such copies, since their memory is not in the heap. Chunks are not freed: other code
 * may still use them, and so may a native operation, such as a write, which would then read other data.
 */
export function freeRefused({ bytes, isOwnCopy }: WholeBody): void {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength; // a short copy is a part of Node.js' pool
  if (isOwnCopy && isWhole) (bytes.buffer as ArrayBuffer).transfer(0);
}

const clientLeft = "the client closed the connection";

function incomplete(reason: string): BodyFault {
  return { code: "body_incomplete", reason };
}

/** Calls `onSlow` with the reason once `timeoutMs` has passed, or once a quarter of it has brought too few bytes. */
function watchPace(
  timeoutMs: number,
  received: () => number,
  onSlow: (reason: string) => void,
): NodeJS.Timeout {
  const quarterMs = timeoutMs / 4;
  let quarters = 0;
  let before = 0;
  const check = () => {
    quarters += 1;
    if (quarters === 4) return onSlow(`the body was not complete within bodyTimeoutMs (${timeoutMs})`);
    const bytes = received() - before;
    if (bytes < leastBytes) {
      onSlow(
        `${bytes} bytes arrived in ${quarterMs} ms, a quarter of bodyTimeoutMs, and at least ${leastBytes} must`,
      );
    }
    before += bytes;
  };
  // what arrived while the event loop was blocked is read first
  return setInterval(() => setImmediate(check), quarterMs);
}

function largestOf(pending: ReadonlySet<PendingBody>): PendingBody {
  let [largest] = pending as Iterable<PendingBody> as [PendingBody];
  for (const body of pending) if (body.heldBytes > largest.heldBytes) largest = body;
  return largest;
}
