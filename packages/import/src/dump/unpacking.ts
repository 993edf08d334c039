import { WebhookError } from "@esim-webhooks/core";
import { getAgain, type ImportErrorCode } from "./errors.ts";
import type { DumpLimits } from "./record.ts";

/** Limits the size of the unpacked dump, and its ratio to the packed size. */
export interface Bounds {
  /** Counts bytes of the dump itself. */
  packed(bytes: number): void;
  /** Returns the counters of this depth, for all entries together. */
  unpacked(depth: number): Unpacking;
}

/** The counters for one depth. They throw `dump_too_large`. */
export interface Unpacking {
  bytes(count: number): void;
  /** Counts a part that takes time even if nothing is in it: a member, a frame, a block, an entry. */
  part(): void;
}

// a small dump may honestly have a high ratio, such as one record repeated many times
const ratioFromBytes = 16 * 1024 * 1024;

// for each part, and only in the ratio: so an empty gzip member of 20 bytes counts 400 times its size, but a member with a
// record seldom 100 times
const partBytes = 8 * 1024;

export function createBounds({ maxUnpackedBytes, maxRatio }: DumpLimits): Bounds {
  let packedBytes = 0;
  const unpackedBytes: number[] = [];
  const weights: number[] = [];

  function weigh(depth: number, bytes: number): void {
    const weight = (weights[depth] ?? 0) + bytes;
    weights[depth] = weight;
    if (weight >= ratioFromBytes && weight > maxRatio * packedBytes) {
      throw tooLarge(
        `The dump unpacks to more than ${maxRatio} times its size, with 8 KiB for each part.`,
        "maxRatio",
      );
    }
  }

  return {
    packed(bytes) {
      packedBytes += bytes;
    },
    unpacked: (depth) => ({
      bytes(count) {
        const total = (unpackedBytes[depth] ?? 0) + count;
        unpackedBytes[depth] = total;
        if (total > maxUnpackedBytes) {
          throw tooLarge(`The dump unpacks to more than ${maxUnpackedBytes} bytes.`, "maxUnpackedBytes");
        }
        weigh(depth, count);
      },
      part: () => weigh(depth, partBytes),
    }),
  };
}

function tooLarge(problem: string, option: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "dump_too_large",
    `${problem} Everything before was read.`,
    `If you trust its sender, raise the option ${option}; otherwise treat it as an attack.`,
    { option },
  );
}

/** The members of a gzip file, or the frames of a zstd file. A damaged one does not stop the reading of the others. */
export interface Parts {
  /** The offsets in the unpacked bytes at which bytes may be missing, in order. */
  readonly gaps: number[];
  /** Passes on `bytes`, the unpacked bytes of the part that begins at offset `at` of the file. Returns whether it is whole; otherwise notes the damage. */
  read(at: number, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, boolean>;
  /** Notes `size` bytes at offset `at` of the file that belong to no part. */
  foreign(at: number, size: number, isText: boolean): void;
  isDamaged(): boolean;
  /** Throws the error of the first damage, if any. Its message counts the other damaged places, and the parts that were unpacked after it. */
  check(): void;
}

interface Damage {
  readonly error: WebhookError<string>;
  /** Says where the part begins. Empty for the first part, and if the error says so itself. */
  readonly place: string;
  /** How many whole parts were unpacked before. */
  readonly before: number;
}

const compare =
  "If its sender counts more records than the import, have the dump packed again and import it again: done events are duplicates.";

/** @param name what a part is called */
export function createParts(archive: string, name: string): Parts {
  const gaps: number[] = [];
  let unpackedBytes = 0;
  let begun = 0;
  let whole = 0;
  let first: Damage | undefined;
  let others = 0;

  function note(error: WebhookError<string>, place: string): void {
    if (gaps.at(-1) !== unpackedBytes) gaps.push(unpackedBytes);
    if (first === undefined) first = { error, place, before: whole };
    else others += 1;
  }

  return {
    gaps,
    async *read(at, bytes) {
      begun += 1;
      const place = at === 0 ? "" : ` This is in ${name} ${begun}, which begins at byte ${at}.`;
      try {
        const start = unpackedBytes;
        for await (const chunk of bytes) {
          unpackedBytes += chunk.byteLength;
          yield chunk;
        }
        if (unpackedBytes > start) whole += 1; // a skippable frame has nothing to unpack
        return true;
      } catch (error) {
        if (!isDamage(error)) throw error;
        note(error, place);
        return false;
      }
    },
    foreign(at, size, isText) {
      const place = `outside its ${name}s, at byte ${at}, after ${name} ${begun}.`;
      const cutOut = `tail -c +${at + 1} <dump> | head -c ${size}`;
      note(isText ? foreignText(archive, size, place, cutOut) : foreignData(archive, size, place), "");
    },
    isDamaged: () => first !== undefined,
    check() {
      if (first === undefined) return;
      const { error, place, before } = first;
      const after = whole - before;
      const problem = [
        error.problem + place,
        ...(others > 0
          ? [`${counted(others, "more place")} in it ${others === 1 ? "is" : "are"} damaged.`]
          : []),
        ...(after > 0
          ? [`${counted(after, `whole ${name}`)} after it ${after === 1 ? "was" : "were"} unpacked.`]
          : []),
      ].join(" ");
      const remedy = after > 0 && error.remedy === getAgain ? compare : error.remedy;
      throw new WebhookError<string>(error.code, problem, remedy, { cause: error });
    },
  };
}

function foreignText(archive: string, size: number, place: string, cutOut: string): WebhookError<string> {
  return new WebhookError<ImportErrorCode>(
    "damaged_dump",
    `The ${archive} contains ${counted(size, "byte")} of text ${place}`,
    `If this text is records, import it on its own: \`${cutOut}\`. If its sender counts more records than the import, have the dump packed again and import it again: done events are duplicates.`,
  );
}

function foreignData(archive: string, size: number, place: string): WebhookError<string> {
  return new WebhookError<ImportErrorCode>(
    "damaged_dump",
    `The ${archive} contains ${counted(size, "byte")} of binary data ${place}`,
    compare,
  );
}

/** Whether the error is about the dump itself, so that its other parts can still be read. */
export function isDamage(error: unknown): error is WebhookError<string> {
  return WebhookError.is(error) && (error.code === "damaged_dump" || error.code === "unknown_dump");
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
