import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { Readable } from "node:stream";
import { createGzip, createZstdCompress, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readDump } from "../../src/dump/read-dump.ts";
import { skippableFrame, zipSync } from "./packing.ts";
import { contents, limits, readAll, readBytes } from "./reading.ts";

const mebibyte = 1024 * 1024;

async function* repeated(bytes: Buffer, times: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < times; i++) yield bytes;
}

/** A very long JSON array: only its size is wrong. */
const filler = Buffer.alloc(mebibyte, "\n");

function bombOf(compressor: NodeJS.ReadWriteStream, mebibytes: number): AsyncIterable<Uint8Array> {
  const input = Readable.from(repeated(filler, mebibytes));
  return input.pipe(compressor) as unknown as AsyncIterable<Uint8Array>;
}

/** How much memory outside the heap grew, at its peak. */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().arrayBuffers;
  let most = before;
  const look = () => {
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  };
  const timer = setInterval(look, 1);
  await work().finally(() => clearInterval(timer));
  look(); // work that never waits leaves the timer no turn
  return most - before;
}

describe("a bomb of 1 GiB is dump_too_large, and needs little memory", () => {
  it.each([
    ["gzip", () => bombOf(createGzip(), 1024)],
    ["zstd", () => bombOf(createZstdCompress(), 1024)],
  ])("%s", async (_, bomb) => {
    const growth = await growthDuring(async () => {
      const { records, damage } = await readAll(bomb());
      expect(records).toEqual([]);
      expect(damage?.code).toBe("dump_too_large");
      expect(damage?.message).toMatch(/more than 250 times its size.*maxRatio/);
    });
    expect(growth).toBeLessThan(100 * mebibyte);
  });

  it("gzip in a ZIP in a ZIP, whose next entry is not read", async () => {
    const member = gzipSync(Buffer.alloc(64 * mebibyte, "\n"));
    const gzip = Buffer.concat(Array(16).fill(member));
    const bomb = zipSync([
      { name: "outer.zip", bytes: zipSync([{ name: "inner.gz", bytes: gzip }]) },
      { name: "b", bytes: '{"b":1}' },
    ]);
    const { records, damage } = await readBytes(bomb);
    expect(records).toEqual([]);
    expect(damage?.code).toBe("dump_too_large");
  });

  it("zeros in an entry that is not a dump, which is not unpacked to its end", async () => {
    const { damage } = await readBytes(zipSync([{ name: "zeros", bytes: Buffer.alloc(64 * mebibyte) }]));
    expect(damage?.code).toBe("dump_too_large");
  });
});

describe("a dump of many parts with next to nothing in them is dump_too_large", () => {
  const parts = 30_000;
  const times = (part: Uint8Array) => Buffer.concat(Array(parts).fill(part));
  const emptyBlocks = () => {
    const frame = Buffer.from("28b52ffd0058", "hex"); // no checksum, a window of 2 MiB
    return Buffer.concat([frame, times(Buffer.from("000000", "hex")), Buffer.from("010000", "hex")]);
  };
  const entries = (bytes: string) => Array.from({ length: parts }, () => ({ name: "a", bytes }));
  const members = times(gzipSync(""));
  it.each<[string, () => Uint8Array]>([
    ["empty gzip members", () => members],
    ["gzip members of a byte", () => times(gzipSync(" "))],
    ["empty zstd frames", () => times(zstdCompressSync(""))],
    ["skippable zstd frames", () => times(skippableFrame(Buffer.alloc(0)))],
    ["empty zstd blocks", emptyBlocks],
    ["empty ZIP entries", () => zipSync(entries("").map((entry) => ({ ...entry, method: "stored" })))],
    ["empty ZIP archives", () => times(zipSync([]))],
    ["empty gzip members in gzip", () => gzipSync(members)],
    ["empty gzip members in a ZIP in zstd", () => zstdCompressSync(zipSync([{ name: "a", bytes: members }]))],
  ])("%s", async (_, dump) => {
    expect((await readBytes(dump())).damage?.code).toBe("dump_too_large");
  });

  it("and one with a record in each is read", async () => {
    const record = (n: number) => `{"id":"${createHash("sha256").update(String(n)).digest("hex")}"}\n`;
    const lines = Array.from({ length: 2500 }, (_, n) => record(n)); // the ratio counts from 2,048 parts on
    for (const dump of [
      Buffer.concat(lines.map((line) => gzipSync(line))),
      Buffer.concat(lines.map((line) => zstdCompressSync(line))),
      zipSync(lines.map((bytes, n) => ({ name: `${n}`, bytes }))),
    ]) {
      const { records, damage } = await readBytes(dump);
      expect([records.length, damage]).toEqual([2500, undefined]);
    }
  });
});

describe("maxUnpackedBytes", () => {
  it("limits all entries together, and everything before the limit is read", async () => {
    const lines = Buffer.from('{"a":1}\n'.repeat(100_000));
    const entries = ["a", "b", "c"].map((name) => ({ name, bytes: lines }));
    const { records, damage } = await readBytes(zipSync(entries), undefined, {
      maxUnpackedBytes: 2 * lines.byteLength,
    });
    expect(damage?.message).toMatch(/more than 1600000 bytes.*raise the option maxUnpackedBytes/);
    expect(records).toHaveLength(200_000);
  });

  it("does not limit a dump that is not packed", async () => {
    expect(
      (await readBytes('{"a":1}\n'.repeat(1000), undefined, { maxUnpackedBytes: 10 })).damage,
    ).toBeUndefined();
  });
});

describe("a record over maxRecordBytes is skipped without being kept", () => {
  const long = Buffer.alloc(10_000_000, "x");
  const shapes: [string, (text: Buffer) => Buffer, unknown[]][] = [
    [
      "a line",
      (t) => Buffer.concat([Buffer.from('{"a":1}\n'), t, Buffer.from('\n{"b":1}')]),
      [{ a: 1 }, "too_large", { b: 1 }],
    ],
    [
      "a line with a string",
      (t) => Buffer.concat([Buffer.from('{"a":1}\n{"t":"'), t, Buffer.from('"}\n{"b":1}')]),
      [{ a: 1 }, "too_large", { b: 1 }],
    ],
    [
      "a line with a string that does not end",
      (t) => Buffer.concat([Buffer.from('{"a":1}\n{"t":"'), t, Buffer.from('\n{"b":1}')]),
      [{ a: 1 }, "too_large", { b: 1 }],
    ],
    [
      "an element",
      (t) => Buffer.concat([Buffer.from('[\n{"a":1},{"t":"'), t, Buffer.from('"},{"b":1}]')]),
      [{ a: 1 }, "too_large", { b: 1 }],
    ],
    [
      "an element of a long line",
      (t) => Buffer.concat([Buffer.from('{"a":1}\n[{"t":"'), t, Buffer.from('"},{"b":1}]\n{"c":1}')]),
      [{ a: 1 }, "too_large", { b: 1 }, { c: 1 }],
    ],
    [
      "a row",
      (t) => Buffer.concat([Buffer.from('id,payload\na,"'), t, Buffer.from('"\nb,c')]),
      ["too_large", { id: "b", payload: "c" }],
    ],
  ];
  it.each(shapes)("%s of 10 million characters", async (_, shape, expected) => {
    const bytes = shape(long);
    const growth = await growthDuring(async () => {
      const { records, damage } = await readBytes(bytes);
      expect(damage).toBeUndefined();
      expect(contents(records)).toEqual(expected);
      const fault = records.find((record) => "fault" in record);
      expect(fault).not.toHaveProperty("text");
    });
    expect(growth).toBeLessThan(30 * mebibyte);
  });

  it("is measured exactly, in bytes", async () => {
    const exactly = `{"t":"${"x".repeat(92)}"}`; // 100 bytes
    for (const text of [exactly, `${exactly}\n${exactly}`, `[${exactly},\n${exactly}]`]) {
      for (const size of [1, 7, 99, 100, 101, 65536]) {
        const fits = await readBytes(text, size, { maxRecordBytes: 100 });
        expect(fits.records.every((record) => "value" in record)).toBe(true);
        const over = await readBytes(text, size, { maxRecordBytes: 99 });
        expect(over.records.every((record) => "fault" in record && record.fault === "too_large")).toBe(true);
      }
    }
  });

  it("may be a line, if that line is a page of shorter records", async () => {
    const data = Array.from({ length: 100 }, (_, i) => ({ i }));
    const { records, damage } = await readBytes(
      `{"a":1}\n${JSON.stringify({ data, pagination: {} })}\n{"b":1}`,
      undefined,
      { maxRecordBytes: 200 },
    );
    expect(damage).toBeUndefined();
    expect(contents(records)).toEqual([{ a: 1 }, ...data, { b: 1 }]);
    expect(records.at(-1)?.position.line).toBe(3);
  });
});

describe("a record deeper than maxDepth", () => {
  const deep = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  it.each([
    ["a line", (record: string) => `${record}\n{"b":1}`],
    ["an element", (record: string) => `[\n${record},{"b":1}]`],
    ["an element of a line", (record: string) => `[${record}]\n{"b":1}`],
    ["an element of a page in a line", (record: string) => `{"data":[${record}],"pagination":{}}\n{"b":1}`],
  ])("is too_deep as %s", async (_, shape) => {
    expect(contents((await readBytes(shape(deep(64)))).records)).toEqual([JSON.parse(deep(64)), { b: 1 }]);
    expect(contents((await readBytes(shape(deep(65)))).records)).toEqual(["too_deep", { b: 1 }]);
  });

  it("is not one with many brackets in its texts or side by side", async () => {
    const record = { text: "[".repeat(500), list: Array.from({ length: 500 }, () => [{}]) };
    expect(contents((await readBytes(`${JSON.stringify(record)}\n{}`)).records)).toEqual([record, {}]);
  });

  it("may have 10 million brackets", async () => {
    const { records } = await readBytes(`{"a":1}\n${"[".repeat(1e7)}\n{"b":1}`);
    expect(contents(records)).toEqual([{ a: 1 }, "too_large", { b: 1 }]);
    const within = await readBytes(`{"a":1}\n${'{"a":'.repeat(1e5)}\n{"b":1}`);
    expect(contents(within.records)).toEqual([{ a: 1 }, "not_json", { b: 1 }]);
  });
});

describe("reading", () => {
  it("reads the input only as needed, and closes it when the reader stops", async () => {
    let yielded = 0;
    let isClosed = false;
    async function* input() {
      try {
        for (;;) {
          yielded++;
          yield gzipSync('{"a":1}\n'.repeat(1000));
        }
      } finally {
        isClosed = true;
      }
    }
    const { batches } = readDump(input(), limits);
    expect(yielded).toBe(0);
    expect((await batches.next()).done).toBe(false);
    expect(yielded).toBeLessThan(100);
    await batches.return(undefined);
    expect(isClosed).toBe(true);
  });

  it("throws the error of the input, after everything before it was read", async () => {
    async function* input() {
      yield Buffer.from('{"a":1}\n{"b":1}');
      throw new Error("connection reset");
    }
    const found: unknown[] = [];
    const reading = (async () => {
      for await (const batch of readDump(input(), limits).batches) found.push(...contents(batch));
    })();
    await expect(reading).rejects.toThrow("connection reset");
    expect(found).toEqual([{ a: 1 }, { b: 1 }]);
  });

  it("refuses a stream of text instead of finding nothing in it", async () => {
    async function* input() {
      yield '{"a":1}' as unknown as Uint8Array;
    }
    const reading = readDump(input(), limits).batches.next();
    await expect(reading).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("a dump that is made to waste time or disk space", () => {
  it("with a closing bracket on each line is recognised quickly", async () => {
    const before = process.cpuUsage();
    const { damage } = await readBytes(`x\n${"]\n".repeat(128_000)}`);
    expect(damage?.code).toBe("unknown_dump");
    // in processor time, which does not depend on the load: it once took a minute, for each entry of an archive
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(10_000);
  });

  it("with entries whose names are paths is read, and nothing is written there", async () => {
    const names = ["zip-slip.ndjson", "../zip-slip.ndjson", `${tmpdir()}/zip-slip.ndjson`];
    const { records } = await readBytes(zipSync(names.map((name) => ({ name, bytes: '{"a":1}\n' }))));
    expect(records.map(({ position }) => position.entry)).toEqual(names);
    for (const name of names) expect(existsSync(name)).toBe(false);
  });

  it("with a long name of an entry has the name cut in the positions of its records", async () => {
    const entry = { name: "n".repeat(60_000), bytes: '{"a":1}\n{"a":2}\n' };
    const { records } = await readBytes(zipSync([entry]));
    expect(records.map(({ position }) => position.entry)).toEqual(Array(2).fill("n".repeat(255)));
  });
});
