import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { skippableFrame, zipSync } from "./packing.ts";
import { contents, readBytes } from "./reading.ts";

const noise = Buffer.from(
  Array.from({ length: 4000 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 24),
).toString("hex");
const record = (n: number, note = "") => ({ eventId: `evt_${n}`, payload: note });
const line = (n: number, note = "") => Buffer.from(`${JSON.stringify(record(n, note))}\n`);
const three = [record(1), record(2), record(3)];

/** A member or a frame that ends in its middle, as when an upload was interrupted. */
const half = (bytes: Buffer) => bytes.subarray(0, bytes.byteLength >> 1);

function flipped(bytes: Buffer): Buffer {
  const damaged = Buffer.from(bytes);
  damaged.writeUInt8(damaged.readUInt8(bytes.byteLength >> 1) ^ 0x10, bytes.byteLength >> 1);
  return damaged;
}

/** Reads the same bytes in chunks of several sizes: the result must not depend on them. */
async function read(...parts: readonly Buffer[]) {
  const bytes = Buffer.concat(parts);
  const whole = await readBytes(bytes);
  const small = await readBytes(bytes, 7);
  expect(contents(small.records)).toEqual(contents(whole.records));
  expect(small.damage?.message).toBe(whole.damage?.message);
  return { found: contents(whole.records), message: whole.damage?.message, code: whole.damage?.code };
}

const kinds = [
  ["gzip", "member", gzipSync],
  [
    "zstd",
    "frame",
    (bytes: Buffer) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
  ],
] as const;

describe.each(kinds)("%s: a damaged file", (form, name, pack) => {
  const [one, two, three_] = [pack(line(1)), pack(line(2)), pack(line(3))];

  it.each([
    ["text", Buffer.from("--next--\r\n"), "10 bytes of text"],
    ["binary data", Buffer.of(1, 2, 3, 0), "4 bytes of binary data"],
  ])(
    "with %s between its parts is read to its end, and the error says what is there and where",
    async (_, junk, found) => {
      const { found: records, code, message } = await read(one, junk, two, three_);
      expect(records).toEqual(three);
      expect(code).toBe("damaged_dump");
      expect(message).toContain(
        `The ${form} file contains ${found} outside its ${name}s, at byte ${one.byteLength}, after ${name} 1. 2 whole ${name}s after it were unpacked.`,
      );
    },
  );

  it("with more binary data between its parts than one look ahead is read to its end", async () => {
    const junk = Buffer.alloc(200_000, 1);
    const { records, damage } = await readBytes(Buffer.concat([one, junk, two]));
    expect(contents(records)).toEqual([record(1), record(2)]);
    expect(damage?.message).toContain("contains 200000 bytes of binary data");
  });

  it("with text behind its last part names the command that cuts it out", async () => {
    const { found, message } = await read(one, Buffer.from('{"eventId":"evt_2"}\n'));
    expect(found).toEqual([record(1)]);
    expect(message).toContain(`tail -c +${one.byteLength + 1} <dump> | head -c 20`);
  });

  it("is whole if only zeros are between and behind its parts", async () => {
    const { found, message } = await read(one, Buffer.alloc(100), two, three_, Buffer.alloc(512));
    expect(found).toEqual(three);
    expect(message).toBeUndefined();
  });

  it.each([
    ["cut", half],
    ["flipped", flipped],
  ])("with a part that is %s is read behind it", async (_, damage) => {
    const long = damage(pack(line(2, noise)));
    for (const size of [7, 100_000]) {
      const { records, damage } = await readBytes(Buffer.concat([one, long, three_]), size);
      expect(contents(records)).toEqual(expect.arrayContaining([record(1), record(3)]));
      expect(damage?.message).toContain(
        `This is in ${name} 2, which begins at byte ${one.byteLength}. 1 whole ${name} after it was unpacked.`,
      );
    }
  });

  it("counts its other damaged places", async () => {
    const { found, message } = await read(one, Buffer.from("x"), two, Buffer.from("yy"), three_);
    expect(found).toEqual(three);
    expect(message).toContain("1 more place in it is damaged. 2 whole");
  });

  it("never joins the halves of two records", async () => {
    const [a, b] = [line(1, "aaaa").subarray(0, 26), line(2, "bbbb").subarray(26)];
    const { found } = await read(pack(a), Buffer.from("junk"), pack(b), three_);
    expect(found).toEqual(["not_json", "not_json", record(3)]);
  });

  it("of CSV never joins two rows, nor believes a row without its beginning", async () => {
    const rows = ["eventId,payload\nevt_1,a\nevt_2", "2,b\nevt_3,c\n"].map((text) => pack(Buffer.from(text)));
    const { found } = await read(rows[0] as Buffer, Buffer.from("junk"), rows[1] as Buffer);
    expect(found).toEqual([record(1, "a"), "not_a_record", "not_a_record", record(3, "c")]);
  });

  it("of a JSON array is read on between records, and within one it says from where on it is not", async () => {
    const parts = ['[{"a":1},', '{"b":1}]'].map((text) => pack(Buffer.from(text)));
    const between = await read(parts[0] as Buffer, Buffer.from("junk"), parts[1] as Buffer);
    expect(between.found).toEqual([{ a: 1 }, { b: 1 }]);
    const cut = ['[{"a":1},{"c"', ':1},{"b":1}]'].map((text) => pack(Buffer.from(text)));
    const within = await read(cut[0] as Buffer, Buffer.from("junk"), cut[1] as Buffer);
    expect(within.found).toEqual([{ a: 1 }]);
    expect(within.message).toMatch(
      /4 bytes of text outside.*1 whole .* unpacked\. Bytes are missing inside a record of the JSON, at byte 13/,
    );
  });
});

it("gzip: the beginning of a member that another one follows does not hide it", async () => {
  for (const cut of [2, 4, 12]) {
    const { found } = await read(gzipSync(line(1)), gzipSync(line(9)).subarray(0, cut), gzipSync(line(2)));
    expect(found).toEqual([record(1), record(2)]);
  }
});

it("zstd: bytes before a skippable frame do not hide the frame after it", async () => {
  const { found, message } = await read(
    zstdCompressSync(line(1)),
    Buffer.from("junk"),
    skippableFrame(Buffer.from("skip")),
    zstdCompressSync(line(2)),
  );
  expect(found).toEqual([record(1), record(2)]);
  expect(message).toContain("outside its frames, at byte");
});

it("joined CSV files repeat their header and their byte order mark, which are no records", async () => {
  const file = (row: string) => gzipSync(`\ufeffeventId,payload\r\n${row}\r\n`);
  const { found, message } = await read(file("evt_1,a"), file("evt_2,b"));
  expect(found).toEqual([record(1, "a"), record(2, "b")]);
  expect(message).toBeUndefined();
});

describe("a damaged ZIP archive", () => {
  const entry = (n: number, rest = {}) => ({ name: `${n}.ndjson`, bytes: line(n), ...rest });

  it("is read behind an entry whose end is not known", async () => {
    const { found, message } = await read(
      zipSync([entry(1), entry(2, { method: "stored", descriptor: true }), entry(3)]),
    );
    expect(found).toEqual([record(1), record(3)]);
    expect(message).toMatch(
      /The entry "2\.ndjson" of the ZIP archive, at byte \d+, is stored without its size/,
    );
  });

  it("counts the entries that cannot be read", async () => {
    const { found, message } = await read(
      zipSync([entry(1, { encrypted: true }), entry(2), entry(3, { claims: 14 })]),
    );
    expect(found).toEqual([record(2)]);
    expect(message).toMatch(
      /"1\.ndjson".*is encrypted\. 1 more entry cannot be read, or only in part\. Unpack/,
    );
  });

  it("with bytes between its entries is read to its end", async () => {
    const whole = zipSync([entry(1), entry(2), entry(3)]);
    const second = whole.indexOf(Buffer.from("504b0304", "hex"), 4);
    const { found, message } = await read(
      whole.subarray(0, second),
      Buffer.from("xPK?"),
      whole.subarray(second),
    );
    expect(found).toEqual(three);
    expect(message).toContain(`contains data at byte ${second} that is not part`);
  });

  it("without the header of an entry says how many it lists and how many were found", async () => {
    const damaged = zipSync([entry(1), entry(2), entry(3)]);
    const second = damaged.indexOf(Buffer.from("504b0304", "hex"), 4);
    damaged.fill(0xff, second, second + 4);
    const { found, message } = await read(damaged);
    expect(found).toEqual([record(1), record(3)]);
    expect(message).toContain("lists 3 entries, but 2 were found");
  });

  it("is whole if only zeros are behind it", async () => {
    const { found, message } = await read(zipSync([entry(1)]), Buffer.alloc(512));
    expect(found).toEqual([record(1)]);
    expect(message).toBeUndefined();
  });
});
