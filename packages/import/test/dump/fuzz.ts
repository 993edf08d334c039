import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gzipTwo, zipSync, zstdTwo } from "./packing.ts";
import { contents, readAll } from "./reading.ts";

const record = fc
  .dictionary(
    fc.oneof(fc.string(), fc.constantFrom("data", "pagination", "__proto__")),
    fc.jsonValue({ maxDepth: 4 }),
    {
      maxKeys: 5,
    },
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);
// at the top level of a dump, and in an array there, an object with an array `data` is a page
const topRecord = record.filter((value) => !Array.isArray(value["data"]));
const anything = fc.oneof(
  record,
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
);
const element = anything.filter(
  (value) => !Array.isArray((value as { readonly data?: unknown } | null)?.data),
);
const spaces = fc.stringMatching(/^[ \t\r\n]{0,4}$/);
const indent = fc.constantFrom(undefined, 0, 1, 2, "\t", "\n");
const json = (value: unknown, space?: string | number) => JSON.stringify(value, null, space);

interface Dump {
  readonly text: string;
  /** Each record as JSON.parse reads it. */
  readonly values: readonly unknown[];
}

const array = fc.tuple(fc.array(element), indent, spaces, spaces).map(
  ([values, space, before, between]): Dump => ({
    values,
    text:
      before +
      (space === undefined
        ? `[${values.map((v) => json(v)).join(`${between},${between}`)}]`
        : json(values, space)),
  }),
);
const lines = fc
  .tuple(fc.array(topRecord, { minLength: 1 }), fc.constantFrom("\n", "\r\n", "\n\n", " \n "))
  .map(([values, end]): Dump => ({ values, text: values.map((value) => json(value) + end).join("") }));
const arrayLines = fc
  .array(fc.array(element), { minLength: 2 })
  .map((arrays): Dump => ({ values: arrays.flat(), text: arrays.map((one) => json(one)).join("\n") }));
const pages = fc
  .tuple(fc.array(fc.array(anything), { minLength: 1 }), indent, spaces, fc.boolean(), record)
  .map(
    ([all, space, between, isFirst, pagination]): Dump => ({
      values: all.flat(),
      text: all
        .map((data) => json(isFirst ? { data, pagination } : { pagination, note: "data", data }, space))
        .join(between),
    }),
  );
const pageArrays = fc.tuple(fc.array(fc.array(anything), { minLength: 1 }), indent, record).map(
  ([all, space, pagination]): Dump => ({
    values: all.flat(),
    text: json(
      all.map((data) => ({ data, pagination })),
      space,
    ),
  }),
);
const objects = fc.tuple(fc.array(topRecord, { minLength: 1 }), indent, spaces).map(
  ([values, space, between]): Dump => ({
    values,
    text: values.map((value) => json(value, space)).join(between),
  }),
);
const dump = fc.oneof(array, lines, arrayLines, pages, pageArrays, objects);

const packing = fc.constantFrom<(bytes: Buffer) => Buffer>(
  (bytes) => bytes,
  gzipSync,
  gzipTwo,
  zstdTwo,
  (bytes) => zstdCompressSync(bytes),
  (bytes) => zipSync([{ name: "dump", bytes }]),
  (bytes) => zipSync([{ name: "dump", bytes, descriptor: true }]),
);

/** Cuts at random places. */
async function* cutUp(bytes: Buffer, places: readonly number[]): AsyncGenerator<Buffer> {
  const ends = places.map((place) => Math.floor(place * bytes.byteLength)).sort((a, b) => a - b);
  let from = 0;
  for (const end of [...ends, bytes.byteLength]) {
    yield bytes.subarray(from, end);
    from = end;
  }
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 });

function expectedOf(values: readonly unknown[]): unknown[] {
  return values.map((value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? value : "not_a_record",
  );
}

/** Reads generated dumps, so many of each kind. */
export function fuzz(numRuns: number): void {
  describe("fuzzing", () => {
    it("yields what JSON.parse would, in every layout and packing, wherever the chunks are cut", async () => {
      await fc.assert(
        fc.asyncProperty(dump, packing, places, async ({ text, values }, pack, cuts) => {
          const { records, damage } = await readAll(cutUp(pack(Buffer.from(text)), cuts));
          expect(damage).toBeUndefined();
          expect(JSON.stringify(contents(records))).toBe(JSON.stringify(expectedOf(values)));
        }),
        { numRuns },
      );
    });

    it("of offsets: each record's text is at its position", async () => {
      await fc.assert(
        fc.asyncProperty(dump, places, async ({ text }, cuts) => {
          const bytes = Buffer.from(text);
          const { records } = await readAll(cutUp(bytes, cuts));
          for (const found of records) {
            if (!("value" in found)) continue;
            const rest = bytes.subarray(found.position.offset).toString().trimStart();
            expect(rest[0]).toBe("{");
          }
        }),
        { numRuns },
      );
    });

    it("of damage: throws only the three codes, ends, and loses nothing before the damage", async () => {
      const damage = fc.record({
        place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        bit: fc.integer({ min: 0, max: 7 }),
        isCut: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          dump,
          packing,
          damage,
          places,
          async ({ text, values }, pack, { place, bit, isCut }, cuts) => {
            const whole = pack(Buffer.from(text));
            fc.pre(whole.byteLength > 0);
            const at = Math.floor(place * whole.byteLength);
            const bytes = Buffer.from(isCut ? whole.subarray(0, at) : whole);
            if (!isCut) bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
            const { records } = await readAll(cutUp(bytes, cuts));
            if (bytes.equals(whole.subarray(0, at)) && pack(Buffer.from(text)).equals(Buffer.from(text))) {
              // plain text that was cut: its records are the first of the whole dump
              const found = contents(records).filter((value) => typeof value !== "string");
              const had = expectedOf(values).filter((value) => typeof value !== "string");
              expect(JSON.stringify(found)).toBe(JSON.stringify(had.slice(0, found.length)));
            }
          },
        ),
        { numRuns },
      );
    });

    it("of bytes that are not a dump: throws only the three codes", async () => {
      const magic = fc.constantFrom("", "1f8b08", "28b52ffd", "504b0304", "504b0506", "5b", "7b", "efbbbf");
      await fc.assert(
        fc.asyncProperty(magic, fc.uint8Array({ maxLength: 300 }), places, async (head, rest, cuts) => {
          await readAll(cutUp(Buffer.concat([Buffer.from(head, "hex"), rest]), cuts));
        }),
        { numRuns },
      );
    });

    it("of a damaged line: no other line is affected", async () => {
      const all = fc.array(topRecord, { minLength: 4, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(
          all,
          fc.nat(),
          fc.nat(),
          fc.integer({ min: 32, max: 126 }),
          places,
          async (values, line, column, byte, cuts) => {
            const texts = values.map((value) => Buffer.from(json(value)));
            const bad = texts[line % texts.length] as Buffer;
            bad.writeUInt8(byte, column % bad.byteLength);
            const { records, damage } = await readAll(cutUp(Buffer.from(texts.join("\n")), cuts));
            expect(damage).toBeUndefined();
            const others = records.filter(({ position }) => position.line !== (line % texts.length) + 1);
            const expected = values.filter((_, index) => index !== line % texts.length);
            expect(JSON.stringify(contents(others))).toBe(JSON.stringify(expected));
          },
        ),
        { numRuns },
      );
    });
  });
}
