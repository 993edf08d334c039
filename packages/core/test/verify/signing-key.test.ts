import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hmacSha256 } from "../../src/verify/signing-key.ts";

const hex = (text: string) => Buffer.from(text, "hex");

describe("hmacSha256", () => {
  it.each([
    [
      "aa".repeat(131),
      Buffer.from("Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ],
    [
      "0b".repeat(20),
      Buffer.from("Hi There"),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    ],
    [
      Buffer.from("Jefe").toString("hex"),
      Buffer.from("what do ya want for nothing?"),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ],
    [
      "aa".repeat(20),
      Buffer.alloc(50, 0xdd),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
    ],
    [
      "0102030405060708090a0b0c0d0e0f10111213141516171819",
      Buffer.alloc(50, 0xcd),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    ],
  ])("gives the known answer of RFC 4231 for key %s", (key, data, digest) => {
    expect(Buffer.from(hmacSha256(hex(key))("", data), "base64").toString("hex")).toBe(digest);
  });

  it("gives what createHmac gives for each length around the largest that it hashes at once", () => {
    const mac = hmacSha256(hex("0b".repeat(32)));
    for (let length = 5080; length <= 5160; length += 1) {
      for (const prefix of ["", "msg_1.1795176000."]) {
        const body = new Uint8Array(length - prefix.length).fill(length % 251);
        expect(mac(prefix, body), `${length} bytes`).toBe(
          createHmac("sha256", hex("0b".repeat(32)))
            .update(prefix)
            .update(body)
            .digest("base64"),
        );
      }
    }
  });

  it("gives what createHmac gives, for short and long bodies in any order, with any key of 1 to 100 bytes", () => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 100 });
    const prefix = fc.string({ unit: "binary-ascii", maxLength: 600 });
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 4000, max: 6000 }).map((size) => new Uint8Array(size).fill(size % 251)),
    );
    fc.assert(
      fc.property(key, fc.array(fc.tuple(prefix, body), { maxLength: 6 }), (bytes, messages) => {
        const mac = hmacSha256(bytes);
        for (const [before, after] of messages) {
          expect(mac(before, after)).toBe(
            createHmac("sha256", bytes).update(before).update(after).digest("base64"),
          );
        }
      }),
    );
  });
});
