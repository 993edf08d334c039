import type { Awaitable } from "../base/awaitable.ts";
import { byteBuffer } from "../base/byte-buffer.ts";
import { markOwn } from "../base/own-bytes.ts";
import { bodyBytes } from "../verify/signature.ts";
import type { BodyFault, BodyReader } from "./body.ts";

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
) => Awaitable<Uint8Array | BodyFault>;

/** The place of a body that is being read, or that waits for its turn. */
interface Place {
  /** The memory that it holds. */
  bytes: number;
  /** The body, while it waits for its turn. */
  whole?: Uint8Array;
  grow(bytes: number): void;
  /** Gives the place up with the body's bytes or its fault. Only the first call counts. */
  leave(result: Uint8Array | BodyFault): void;
}

const shortBytes = 32 * 1024; // hashed in some 20 µs, which is less than the rest of the request takes
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
  function hasTurn({ byteLength }: Uint8Array): boolean {
    if (byteLength <= shortBytes) return true;
    if (byteLength > leftBytes) return false;
    leftBytes -= byteLength;
    awaitTurn();
    return true;
  }

  function wait(place: Place, whole: Uint8Array): void {
    place.whole = whole;
    const behind = waiting.findIndex((other) => sizeOf(other) <= whole.byteLength); // the oldest of equals goes first
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

  function read(start: BodyReader, announcedBytes: number): Promise<Uint8Array | BodyFault> {
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
          const joined = buffer.bytes();
          const bytes = joined === first ? joined : markOwn(joined);
          if (hasTurn(bytes)) place.leave(bytes);
          else wait(place, bytes);
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
    if (hasTurn(bytes)) return bytes;
    return new Promise((resolve) => {
      const place = open(resolve);
      place.grow(bytes.byteLength);
      wait(place, bytes);
    });
  };
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
  return whole?.byteLength ?? 0;
}
