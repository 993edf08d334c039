import type { Awaitable } from "../base/awaitable.ts";
import { byteBuffer } from "../base/byte-buffer.ts";
import { bodyBytes } from "../verify/signature.ts";
import type { BodyFault, BodyReader, WholeBody } from "./body.ts";

/** What the bodies of a receiver may take before they are verified, when anybody may have sent them. */
export interface BodyBounds {
  readonly maxBodyBytes: number;
  /** Of all bodies together. */
  readonly maxUnverifiedBytes: number;
  /** For one body to come in. In each quarter of it, 4 KiB must come, or the rest. */
  readonly bodyTimeoutMs: number;
}

/**
 * Reads a body within the bounds. Answers with its bytes when it is their turn to be hashed, or with why there are none: at
 * once, if all bytes are there and it is their turn. Throws for a body that is neither bytes nor text.
 * @param announcedBytes the content-length; NaN if there is none
 */
export type BodyIntake = (
  body: Uint8Array | string | BodyReader,
  announcedBytes: number,
) => Awaitable<WholeBody | BodyFault>;

/** The place of a body that is being read, or that waits for its turn. */
interface Place {
  /** The memory that it holds. */
  bytes: number;
  /** The body, while it waits for its turn. */
  whole?: WholeBody;
  grow(bytes: number): void;
  /** Gives the place up with the body's bytes or its fault. Only the first call counts. */
  leave(result: WholeBody | BodyFault): void;
}

const shortBytes = 32 * 1024; // hashed in 20 to 40 µs a key, no more than the rest of the request takes
const turnBytes = 256 * 1024; // a quarter of what one body may have by default
const leastBytes = 4 * 1024;

/**
 * Makes the intake of a receiver. Its two rules favour small bodies, as most authentic ones are, over large ones. When all
 * bodies together are over their budget, the largest is given up, and the oldest of several. Since hashing keeps everybody
 * waiting, each turn of the event loop lets 256 KiB of long bodies through, or one that is longer. The rest wait, and the
 * shortest goes first.
 */
export function createBodyIntake({
  maxBodyBytes,
  maxUnverifiedBytes,
  bodyTimeoutMs,
}: BodyBounds): BodyIntake {
  const places = new Set<Place>(); // the oldest first
  let heldBytes = 0;
  const waiting: Place[] = []; // long bodies, complete, the shortest last
  let leftBytes = turnBytes; // of this turn
  let isTurnDue = false;
  const overloaded: BodyFault = {
    code: "overloaded",
    reason: `all bodies that are not verified yet have more than maxUnverifiedBytes (${maxUnverifiedBytes}) together, and this was the largest`,
  };

  function open(end: Place["leave"]): Place {
    const place: Place = {
      bytes: 0,
      grow(bytes) {
        heldBytes += bytes - place.bytes;
        place.bytes = bytes;
        while (heldBytes > maxUnverifiedBytes) largestOf(places).leave(overloaded);
      },
      leave(result) {
        if (!places.delete(place)) return;
        if (place.whole) waiting.splice(waiting.lastIndexOf(place), 1);
        heldBytes -= place.bytes;
        end(result);
      },
    };
    places.add(place);
    return place;
  }

  /** Whether a body may be hashed at once. */
  function hasTurn({ bytes: { byteLength } }: WholeBody): boolean {
    if (byteLength <= shortBytes) return true;
    if (byteLength > leftBytes) return false;
    leftBytes -= byteLength;
    awaitTurn();
    return true;
  }

  function wait(place: Place, whole: WholeBody): void {
    place.whole = whole;
    const behind = waiting.findIndex((other) => sizeOf(other) <= whole.bytes.byteLength); // the oldest of equals goes first
    waiting.splice(behind < 0 ? waiting.length : behind, 0, place);
    awaitTurn();
  }

  function awaitTurn(): void {
    if (isTurnDue) return;
    isTurnDue = true;
    setImmediate(() => {
      isTurnDue = false;
      leftBytes = turnBytes;
      for (let next = waiting.at(-1); next?.whole; next = waiting.at(-1)) {
        const isFirst = leftBytes === turnBytes;
        if (!isFirst && sizeOf(next) > leftBytes) break;
        leftBytes -= sizeOf(next);
        next.leave(next.whole);
      }
      if (leftBytes < turnBytes) awaitTurn();
    });
  }

  function tooLarge(announcedBytes: number): BodyFault {
    const length = announcedBytes > maxBodyBytes ? `${announcedBytes} bytes` : "more bytes than that";
    return {
      code: "too_large",
      reason: `maxBodyBytes is ${maxBodyBytes}, and the body has ${length}: raise the option if the sender's bodies are that long`,
    };
  }

  function read(start: BodyReader, announcedBytes: number): Promise<WholeBody | BodyFault> {
    return new Promise((resolve) => {
      const buffer = byteBuffer(maxBodyBytes);
      let isReading = true;
      let first: Uint8Array | undefined;
      let stop = () => {};
      const place = open((result) => {
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
      const fail = (fault: BodyFault) => isReading && place.leave(fault);
      stop = start({
        add(chunk) {
          if (!isReading) return;
          first ??= chunk;
          if (buffer.add(chunk)) place.grow(buffer.allocated());
          else fail(tooLarge(announcedBytes));
        },
        end() {
          if (!isReading) return;
          // a fetch body whose client has left may end in silence
          if (announcedBytes > 0 && buffer.size() === 0) return fail(incomplete(clientLeft));
          endReading();
          const bytes = buffer.bytes();
          const whole = { bytes, isOwnCopy: first !== undefined && bytes !== first };
          if (hasTurn(whole)) place.leave(whole);
          else wait(place, whole);
        },
        abandon: () => fail(incomplete(clientLeft)),
        consumed: (hint) => fail({ code: "body_consumed", hint }),
      });
    });
  }

  return (body, announcedBytes) => {
    if (announcedBytes > maxBodyBytes) return tooLarge(announcedBytes);
    if (typeof body === "function") return read(body, announcedBytes);
    const bytes = bodyBytes(body);
    if (bytes.byteLength > maxBodyBytes) return tooLarge(announcedBytes);
    const whole = { bytes, isOwnCopy: false };
    if (hasTurn(whole)) return whole;
    return new Promise((resolve) => {
      const place = open(resolve);
      place.grow(bytes.byteLength);
      wait(place, whole);
    });
  };
}

/**
 * Frees the memory of a refused body that the intake has copied together: its bytes are empty from then on. Otherwise V8
 * collects its whole heap for each 64 MB of such copies, since their memory is not in the heap. Chunks are left alone: others
 * may hold them, and so may a native operation, such as a write, which then reads what the memory has become.
 */
export function freeRefused({ bytes, isOwnCopy }: WholeBody): void {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength; // a short copy is a part of Node.js' pool
  if (isOwnCopy && isWhole) (bytes.buffer as ArrayBuffer).transfer(0);
}

const clientLeft = "the client closed the connection";

function incomplete(reason: string): BodyFault {
  return { code: "body_incomplete", reason };
}

/** Calls `onSlow` with the reason once `timeoutMs` has passed, or a quarter of it that brought too few bytes. */
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
        `${bytes} bytes came in ${quarterMs} ms, a quarter of bodyTimeoutMs, and at least ${leastBytes} must`,
      );
    }
    before += bytes;
  };
  // what arrived while the event loop was blocked is read first
  return setInterval(() => setImmediate(check), quarterMs);
}

function largestOf(places: ReadonlySet<Place>): Place {
  let [largest] = places as Iterable<Place> as [Place];
  for (const place of places) if (place.bytes > largest.bytes) largest = place;
  return largest;
}

function sizeOf({ whole }: Place): number {
  return whole?.bytes.byteLength ?? 0;
}
