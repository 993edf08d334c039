import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byteBuffer } from "../../src/base/byte-buffer.ts";

const chunks = fc.array(
  fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.integer({ min: 4_000, max: 9_000 }).map(patterned)),
  { maxLength: 30 },
);

function patterned(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, n) => n % 251);
}

describe("byteBuffer", () => {
  it("has the bytes of all chunks in their order, for any lengths, and can go on after bytes()", () => {
    fc.assert(
      fc.property(chunks, chunks, (first, second) => {
        const buffer = byteBuffer(Number.POSITIVE_INFINITY);
        for (const chunk of first) buffer.add(chunk);
        expect(Buffer.concat([buffer.bytes()]).equals(Buffer.concat(first))).toBe(true);
        for (const chunk of second) buffer.add(chunk);
        const all = Buffer.concat([...first, ...second]);
        expect(Buffer.concat([buffer.bytes()]).equals(all)).toBe(true);
        expect(buffer.size()).toBe(all.byteLength);
      }),
      { numRuns: 50 },
    );
  });

  it("takes less than twice the memory of its bytes, also for chunks of one byte", () => {
    const buffer = byteBuffer(Number.POSITIVE_INFINITY);
    for (let n = 0; n < 10_000; n++) {
      buffer.add(Uint8Array.of(n));
      expect(buffer.allocated()).toBeLessThanOrEqual(2 * buffer.size());
    }
  });

  it("refuses the chunk that would go over the limit", () => {
    const buffer = byteBuffer(10);
    expect([buffer.add(patterned(10)), buffer.add(patterned(1)), buffer.size()]).toEqual([true, false, 10]);
  });

  it("copies long chunks once, and a single one never", () => {
    const buffer = byteBuffer(Number.POSITIVE_INFINITY);
    const chunk = patterned(5_000);
    buffer.add(chunk);
    expect(buffer.bytes()).toBe(chunk);
  });
});
