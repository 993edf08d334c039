import { createReadStream, readdirSync, readFileSync } from "node:fs";
import { verify } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { readAll, readBytes } from "./dump/reading.ts";
import { goldenDumps, goldenSecret } from "./golden.ts";

const folder = new URL("golden/", import.meta.url);
const dumps = goldenDumps();

describe("the golden dumps", () => {
  it("are exactly those that make-golden.ts makes", () => {
    expect(readdirSync(folder).sort()).toEqual(dumps.map(({ name }) => name).sort());
  });

  it.each(dumps)("$name is what the script makes", async ({ name, bytes }) => {
    const file = readFileSync(new URL(name, folder));
    // compressed bytes differ between versions of Node.js; their content does not
    if (/\.(gz|zst|zip)$/.test(name)) expect(await readBytes(file)).toEqual(await readBytes(bytes));
    else expect(file.equals(bytes)).toBe(true);
  });

  it.each(dumps)("$name is read to its end", async ({ name, forms, ledger, ids }) => {
    const { records, damage, ...found } = await readAll(createReadStream(new URL(name, folder)));
    expect(damage).toBeUndefined();
    expect(found.forms).toEqual(forms);
    expect(records).toHaveLength(ledger.read);
    expect(records.map(({ position }) => position.record)).toEqual(records.map((_, index) => index + 1));
    const faults = records.filter((record) => "fault" in record);
    expect(faults.length).toBe(name === "bad-lines.ndjson" ? 3 : ledger.invalid);
    const texts = JSON.stringify(records);
    for (const id of ids) expect(texts).toContain(id);
  });

  it("contain captured requests that verify at the time they were received, except one", async () => {
    const { records } = await readBytes(readFileSync(new URL("captured.ndjson", folder)));
    const outcomes = records.map((record) => {
      const { headers, body, receivedAt } = ("value" in record ? record.value : {}) as {
        headers: Record<string, string>;
        body: unknown;
        receivedAt: string;
      };
      const bytes =
        typeof body !== "string"
          ? JSON.stringify(body)
          : body[0] === "{"
            ? body
            : Buffer.from(body, "base64");
      return verify({ headers, body: bytes }, goldenSecret, { at: new Date(receivedAt) }).ok;
    });
    expect(outcomes).toEqual([...Array(10).fill(true), false]);
  });
});
