import type { Awaitable } from "../base/awaitable.ts";
import { byteBuffer } from "../base/byte-buffer.ts";
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
 * once, if all bytes are there and they are short. Throws for a body that is neither bytes nor text.
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
  grow(bytes: number): void;
  /** Gives the place up with the body's bytes or its fault. Only the first call counts. */
  leave(result: Uint8Array | BodyFault): void;
}

const shortBytes = 16 * 1024; // hashed in some 20 µs
const leastBytes = 4 * 1024;

/**
 * Makes the intake of a receiver. Its two rules favour small bodies, as most authentic ones are, over large ones. When all
 * bodies together are over their budget, the largest is given up, and the oldest of several. Long bodies are let through
 * one in each turn of the event loop, the shortest first, since hashing one keeps everybody waiting.
 */
export function createBodyIntake({
  maxBodyBytes,
  maxUnverifiedBytes,
  bodyTimeoutMs,
}: BodyBounds): BodyIntake {
  const places = new Set<Place>(); // the oldest first
  let heldBytes = 0;
  const waiting = new Map<Place, Uint8Array>(); // long bodies, complete
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
        waiting.delete(place);
        heldBytes -= place.bytes;
        end(result);
      },
    };
    places.add(place);
    return place;
  }

  function pass(bytes: Uint8Array, place: Place): void {
    if (bytes.byteLength > shortBytes) {
      waiting.set(place, bytes);
      awaitTurn();
    } else place.leave(bytes);
  }

  function awaitTurn(): void {
    if (isTurnDue || waiting.size === 0) return;
    isTurnDue = true;
    setImmediate(() => {
      isTurnDue = false;
      const [place, bytes] = shortestOf(waiting) ?? [];
      if (place !== undefined && bytes !== undefined) place.leave(bytes);
      awaitTurn();
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
          if (buffer.add(chunk)) place.grow(buffer.allocated());
          else fail(tooLarge(announcedBytes));
        },
        end() {
          if (!isReading) return;
          // a fetch body whose client has left may end in silence
          if (announcedBytes > 0 && buffer.size() === 0) return fail(incomplete(clientLeft));
          endReading();
          pass(buffer.bytes(), place);
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
    if (bytes.byteLength <= shortBytes) return bytes; // hashed in this very turn
    return new Promise((resolve) => {
      const place = open(resolve);
      place.grow(bytes.byteLength);
      pass(bytes, place);
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

function shortestOf(waiting: ReadonlyMap<Place, Uint8Array>): readonly [Place, Uint8Array] | undefined {
  let shortest: readonly [Place, Uint8Array] | undefined;
  for (const entry of waiting) {
    if (shortest === undefined || entry[1].byteLength < shortest[1].byteLength) shortest = entry;
  }
  return shortest;
}
