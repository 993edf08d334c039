import { execFileSync, spawnSync } from "node:child_process";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { zipSync } from "./packing.ts";
import { contents, readBytes } from "./reading.ts";

const records = Array.from({ length: 3000 }, (_, i) => ({ eventId: `evt_${i}`, noise: noise(i) }));
const lines = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(""));

/** Compresses badly, so that the packed bytes span many chunks. */
function noise(seed: number): string {
  return Array.from({ length: 12 }, (_, i) => Math.imul(seed * 12 + i + 1, 0x9e3779b1) >>> 0).join("-");
}

/** What another program unpacks from the same bytes. */
function unpackedBy(command: string, bytes: Buffer): Buffer {
  return spawnSync(command, ["-dc"], { input: bytes, maxBuffer: 2 ** 30 }).stdout;
}

function wholeLines(bytes: Buffer): unknown[] {
  return records.slice(0, bytes.toString("latin1").split("}").length - 1);
}

const cuts = [0.02, 0.31, 0.5, 0.77, 0.999];

describe("a truncated archive yields everything before the cut, then damaged_dump", () => {
  it.each(cuts)("gzip, at %d of it", async (part) => {
    const packed = gzipSync(lines);
    const cut = packed.subarray(0, packed.byteLength * part);
    const { records: found, damage } = await readBytes(cut);
    expect(damage?.code).toBe("damaged_dump");
    expect(found.length).toBeGreaterThanOrEqual(wholeLines(unpackedBy("gzip", cut)).length);
    expect(contents(found)).toEqual(records.slice(0, found.length));
  });

  it.each(cuts)("zstd, at %d of it", async (part) => {
    const packed = zstdCompressSync(lines);
    const cut = packed.subarray(0, packed.byteLength * part);
    const { records: found, damage } = await readBytes(cut);
    expect(damage?.code).toBe("damaged_dump");
    expect(contents(found)).toEqual(wholeLines(unpackedBy("zstd", cut)));
  });

  it.each(cuts)("ZIP, at %d of it", async (part) => {
    const packed = zipSync([{ name: "dump", bytes: lines }]);
    const { records: found, damage } = await readBytes(packed.subarray(0, packed.byteLength * part));
    expect(damage?.code).toBe("damaged_dump");
    if (part > 0.5) expect(found.length).toBeGreaterThan(records.length * (part - 0.1));
    expect(contents(found)).toEqual(records.slice(0, found.length));
  });

  it.each([
    ["gzip", gzipSync(lines)],
    ["zstd", zstdCompressSync(lines, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })],
    ["ZIP", zipSync([{ name: "dump", bytes: lines }])],
  ])("%s whose last byte is missing", async (_, packed) => {
    const { records: found, damage } = await readBytes(packed.subarray(0, -1));
    expect(damage?.message).toMatch(/is truncated\. Everything before it was read/);
    expect(contents(found)).toEqual(records);
  });
});

describe("a cut in the last line", () => {
  const whole = '{"d":1}\n'.repeat(20);
  it.each([
    ["of which only the line end is missing", '{"a":1}', [{ a: 1 }]],
    ["within a record", '{"a":1,"b":', []],
    ["within a list", '[{"a":1},{"b":1},{"c"', [{ a: 1 }, { b: 1 }]],
    ["within a page", '{"data":[{"a":1},{"b":1}],"pag', [{ a: 1 }, { b: 1 }]],
  ])("%s yields the whole records in it", async (_, last, expected) => {
    const packed = zstdCompressSync(Buffer.from(whole + last), {
      params: { [constants.ZSTD_c_checksumFlag]: 1 },
    });
    const { records: found, damage } = await readBytes(packed.subarray(0, -1));
    expect(damage?.code).toBe("damaged_dump");
    expect(contents(found).slice(20)).toEqual(expected);
  });
});

describe("a flipped bit in an archive", () => {
  const places = [0.1, 0.4, 0.8];

  it.each(places)("of gzip yields what gzip would, at %d of it", async (part) => {
    const packed = flipped(gzipSync(lines), part);
    const { records: found, damage } = await readBytes(packed);
    expect(damage?.code).toBe("damaged_dump");
    expect(found.length).toBeGreaterThanOrEqual(wholeLines(unpackedBy("gzip", packed)).length);
    expect(goodAtStart(contents(found))).toBeGreaterThan(records.length * (part - 0.1));
  });

  it.each(places)("of zstd yields what zstd would, at %d of it", async (part) => {
    const packed = flipped(zstdCompressSync(lines, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }), part);
    const { records: found, damage } = await readBytes(packed);
    expect(damage?.code).toBe("damaged_dump");
    expect(found.length).toBeGreaterThanOrEqual(wholeLines(unpackedBy("zstd", packed)).length);
  });

  it("is detected by the checksum of a stored entry, after its records, and the next entry is read", async () => {
    const packed = zipSync([
      { name: "a", bytes: lines, method: "stored" },
      { name: "b", bytes: '{"b":1}' },
    ]);
    const { records: found, damage } = await readBytes(flipped(packed, 0.5));
    expect(damage?.message).toMatch(/does not match its checksum/);
    expect(found).toHaveLength(records.length + 1);
    expect(found.at(-1)?.position).toMatchObject({ record: records.length + 1, entry: "b" });
  });

  it("in a packed entry does not affect the next entry", async () => {
    const packed = zipSync([
      { name: "a", bytes: lines },
      { name: "b", bytes: '{"b":1}' },
    ]);
    const { records: found, damage } = await readBytes(flipped(packed, 0.3));
    expect(damage?.code).toBe("damaged_dump");
    expect(found.at(-1)).toMatchObject({ value: { b: 1 }, position: { entry: "b" } });
  });
});

describe("a ZIP archive", () => {
  it("reports entries that are not dumps, and reads the others", async () => {
    const packed = zipSync([
      { name: "folder/", bytes: "", method: "stored" },
      { name: "folder/README.txt", bytes: "Hello,\nthese are the deliveries that you asked for.\n" },
      { name: "__MACOSX/._a", bytes: Buffer.from("00051607000200004d6163204f5320582020", "hex") },
      { name: "a\n\u001b[31m.ndjson", bytes: '{"a":1}\n' },
      { name: "b.csv", bytes: "eventId,payload\nevt_1,x\n" },
    ]);
    const { records: found, damage } = await readBytes(packed);
    expect(damage).toBeUndefined();
    expect(contents(found)).toEqual([
      "not_a_record",
      "not_a_record",
      { a: 1 },
      { eventId: "evt_1", payload: "x" },
    ]);
    expect(found.map(({ position }) => position.entry)).toEqual([
      "folder/README.txt",
      "__MACOSX/._a",
      "a\ufffd\ufffd[31m.ndjson",
      "b.csv",
    ]);
  });

  it.each([
    ["encrypted", { encrypted: true }, /encrypted\. Unpack it with its password/],
    ["packed by an unknown method", { claims: 14 }, /method 14.*Unpack it first/],
  ])("continues after an entry that is %s, and reports it at the end", async (_, entry, message) => {
    const packed = zipSync([
      { name: "a", bytes: lines, ...entry },
      { name: "b", bytes: '{"b":1}' },
    ]);
    const { records: found, damage } = await readBytes(packed);
    expect(contents(found)).toEqual([{ b: 1 }]);
    expect(damage?.code).toBe("unknown_dump");
    expect(damage?.message).toMatch(message);
  });

  it("ends at an entry that is stored without its size", async () => {
    const packed = zipSync([
      { name: "a", bytes: '{"a":1}' },
      { name: "b", bytes: lines, method: "stored", descriptor: true },
    ]);
    const { records: found, damage } = await readBytes(packed);
    expect(contents(found)).toEqual([{ a: 1 }]);
    expect(damage?.message).toMatch(/stored without its size.*pack it again/);
  });

  it("that has lost an entry before its directory is damaged", async () => {
    const whole = zipSync([
      { name: "a", bytes: '{"a":1}' },
      { name: "b", bytes: '{"b":1}' },
    ]);
    const second = whole.indexOf(Buffer.from("504b0304", "hex"), 4);
    const { records: found, damage } = await readBytes(whole.subarray(second));
    expect(contents(found)).toEqual([{ b: 1 }]);
    expect(damage?.message).toMatch(/lists 2 entries, but 1 was found/);
  });

  it("without entries has no records", async () => {
    expect(await readBytes(zipSync([]))).toEqual({ records: [], forms: ["zip"], damage: undefined });
  });
});

describe("damaged JSON", () => {
  const cases: [string, string, unknown[], RegExp | undefined][] = [
    ["a bad line", '{"a":1}\n{"b":\n{"c":1}', [{ a: 1 }, "not_json", { c: 1 }], undefined],
    ["a bad first line", 'x"a":1}\n{"b":1}\n{"c":1}', ["not_json", { b: 1 }, { c: 1 }], undefined],
    [
      "scalars in lines",
      '1\n"x"\nnull\n{"c":1}',
      ["not_a_record", "not_a_record", "not_a_record", { c: 1 }],
      undefined,
    ],
    [
      "a bad element of a line's array",
      '[{"a":1},{b},{"c":1}]\n{"d":1}',
      [{ a: 1 }, "not_json", { c: 1 }, { d: 1 }],
      undefined,
    ],
    [
      "a bad element of a line's page",
      '{"data":[{"a":1},{b},{"c":1}],"pagination":{}}\n{"d":1}',
      [{ a: 1 }, "not_json", { c: 1 }, { d: 1 }],
      undefined,
    ],
    [
      "a line's array that is cut",
      '{"d":1}\n[{"a":1},{"b"\n{"c":1}',
      [{ d: 1 }, { a: 1 }, "not_json", { c: 1 }],
      undefined,
    ],
    [
      "a bad element",
      '[{"a":1},{b},3,[],{"c":1}]',
      [{ a: 1 }, "not_json", "not_a_record", "not_a_record", { c: 1 }],
      undefined,
    ],
    [
      "an element that is missing",
      '[{"a":1},,{"c":1},]',
      [{ a: 1 }, "not_json", { c: 1 }, "not_json"],
      undefined,
    ],
    [
      "brackets that do not match",
      '[{"a":1},{"b":[1},{"c":1}]',
      [{ a: 1 }],
      /wrong closing bracket at byte 16/,
    ],
    ["an array that is cut", '[{"a":1},{"b":', [{ a: 1 }], /ends inside a record or an array, at byte 14/],
    ["an array that is cut after a record", '[{"a":1},', [{ a: 1 }], /ends inside/],
    ["a page that is cut after its data", '{"data":[{"a":1}]', [{ a: 1 }], /ends inside/],
    [
      "CSV that ends inside a quoted field",
      'eventId,payload\na,b\nc,"d',
      [{ eventId: "a", payload: "b" }],
      /ends inside a quoted field/,
    ],
  ];
  it.each(cases)("%s", async (_, text, expected, message) => {
    for (const size of [1, 2, 3, 7, 65536]) {
      const { records: found, damage } = await readBytes(text, size);
      expect(contents(found)).toEqual(expected);
      if (message) expect(damage?.message).toMatch(message);
      else expect(damage).toBeUndefined();
    }
  });

  it("does not quote the record in a reason", async () => {
    const { records: found } = await readBytes('{"a":1}\n{"secret":hunter2}\nhunter2\n{"hunter2":"\n');
    const reasons = found.flatMap((record) => ("fault" in record ? [record.reason] : []));
    expect(reasons).toHaveLength(3);
    expect(reasons.join()).not.toContain("hunter2");
  });

  it("has the number of the record, its line and its offset in bytes", async () => {
    const { records: found } = await readBytes('\ufeff{"é":1}\r\n\n{bad\n[{"x":1}, {"y":2}]\n');
    expect(found.map(({ position }) => position)).toEqual([
      { record: 1, line: 1, offset: 3 },
      { record: 2, line: 3, offset: 14 },
      { record: 3, line: 4, offset: 20 },
      { record: 4, line: 4, offset: 29 },
    ]);
  });

  it("that is not UTF-8 is a fault, and no character is replaced", async () => {
    const bad = Buffer.from('{"a":1}\n{"b":"\xff"}\n{"c":1}\n', "latin1");
    expect(contents((await readBytes(bad)).records)).toEqual([{ a: 1 }, "not_json", { c: 1 }]);
    const array = Buffer.from('[{"a":1},\n{"b":"\xff"},{"c":1}]', "latin1");
    expect(contents((await readBytes(array)).records)).toEqual([{ a: 1 }, "not_json", { c: 1 }]);
    const csv = Buffer.from("eventId,payload\na,b\nc,\xff\n", "latin1");
    expect(contents((await readBytes(csv)).records)).toEqual([{ eventId: "a", payload: "b" }, "not_json"]);
  });

  it("of CSV is a fault of one row only", async () => {
    const text = 'eventId,payload\na,"b\n""c"""\nd\ne,f,g\nh,"i"j\nk,l"m\nn,o';
    const { records: found } = await readBytes(text);
    expect(contents(found)).toEqual([
      { eventId: "a", payload: 'b\n"c"' },
      "not_a_record",
      "not_a_record",
      "not_a_record",
      "not_a_record",
      { eventId: "n", payload: "o" },
    ]);
    expect(found.map(({ position }) => position.line)).toEqual([2, 4, 5, 6, 7, 8]);
  });
});

describe("input that is not a dump is unknown_dump, with what it seems to be", () => {
  it.each([
    ["UTF-32", Buffer.from("fffe00007b000000", "hex"), /UTF-32\. Convert it/],
    ["xz", Buffer.from("fd377a585a0000", "hex"), /packed with xz/],
    ["zeros", Buffer.alloc(100), /binary data/],
    ["a page of HTML", Buffer.from("<!doctype html><p>Sign in</p>"), /HTML or XML/],
    ["prose", Buffer.from("Dear partner, hunter2, please find attached."), /neither JSON nor CSV/],
    ["gzip of prose", gzipSync("Dear partner"), /neither JSON nor CSV/],
    [
      "gzip in gzip in gzip in gzip",
      gzipSync(gzipSync(gzipSync(gzipSync("{}")))),
      /packed more than 3 times/,
    ],
  ])("%s", async (_, bytes, message) => {
    const { records: found, damage } = await readBytes(bytes);
    expect(found).toEqual([]);
    expect(damage?.code).toBe("unknown_dump");
    expect(damage?.message).toMatch(message);
    expect(damage?.message).not.toContain("hunter2");
  });
});

describe("archives of other programs", () => {
  it("zstd with several frames, from pzstd", async () => {
    const packed = run("pzstd", ["-p", "2", "-c"], lines);
    if (packed) expect(contents((await readBytes(packed)).records)).toEqual(records);
  });

  it("zstd with the longest window", async () => {
    const packed = run("zstd", ["--ultra", "-22", "--long=27", "-c"], lines);
    if (packed) expect(contents((await readBytes(packed)).records)).toEqual(records);
    const longer = run("zstd", ["--long=31", "-c"], lines);
    if (longer) expect((await readBytes(longer)).damage?.message).toMatch(/128 MiB.*zstd -dc --long=31/);
  });

  it("ZIP of a stream", async () => {
    const packed = run("zip", ["-q", "-", "-"], lines);
    if (packed) expect(contents((await readBytes(packed)).records)).toEqual(records);
  });
});

/** Undefined if the program is not installed. */
function run(command: string, options: string[], input: Buffer): Buffer | undefined {
  const { error } = spawnSync(command, ["--version"]);
  return error
    ? undefined
    : execFileSync(command, options, { input, maxBuffer: 2 ** 30, stdio: ["pipe", "pipe", "ignore"] });
}

function flipped(bytes: Buffer, part: number): Buffer {
  const damaged = Buffer.from(bytes);
  const at = Math.floor(bytes.byteLength * part);
  damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
  return damaged;
}

function goodAtStart(found: unknown[]): number {
  const first = found.findIndex((value, i) => JSON.stringify(value) !== JSON.stringify(records[i]));
  return first === -1 ? found.length : first;
}
