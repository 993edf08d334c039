import type { InboxEntry, WebhookEvent } from "@esim-webhooks/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeEntry, type EncodedEntry, encodeEntry } from "../../src/store/entry-codec.ts";

const text = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
  .map((some) => some.replaceAll("\0", "0"));
const replay = fc.record(
  {
    run: text,
    rebuilt: fc.boolean(),
    delivery: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.constant(null))),
  },
  { requiredKeys: ["run", "rebuilt"] },
);
const anything = fc.oneof(
  text,
  fc.string({ unit: "binary" }),
  fc.constantFrom("a\0b", "a\ud800", "x".repeat(2001)),
);
const entriesWith = (name: fc.Arbitrary<string>, noInvalidDate: boolean): fc.Arbitrary<InboxEntry> =>
  fc
    .record(
      {
        source: name,
        id: name,
        type: fc.option(fc.string()),
        event: fc.constant(null),
        body: fc.uint8Array({ maxLength: 2000 }),
        receivedAt: fc.date({ noInvalidDate }),
        replay,
      },
      { requiredKeys: ["source", "id", "type", "event", "body", "receivedAt"] },
    )
    .map((entry) => entry as InboxEntry);
const entries = entriesWith(text, true);

const plain = (entry: InboxEntry) => ({
  ...JSON.parse(JSON.stringify({ ...entry, body: null })),
  body: Buffer.from(entry.body).toString("hex"),
});

const good = encodeEntry({
  source: "default",
  id: "evt_1",
  type: "esim.enabled",
  event: null,
  body: Buffer.from("{}"),
  receivedAt: new Date("2026-11-20T09:30:00Z"),
  replay: { run: "3f2a", rebuilt: true, delivery: { status: "failed", attemptNumber: 3, sentAt: null } },
});

describe("encodeEntry and decodeEntry", () => {
  it("carry any entry through JSON, with every byte of its body", () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const decoded = decodeEntry(JSON.parse(JSON.stringify(encodeEntry(entry))));
        expect(plain(decoded)).toEqual(plain(entry));
        expect(decoded.receivedAt).toEqual(entry.receivedAt);
      }),
    );
  });

  it("carry an event that is nested too deeply to be written as JSON, in its body", () => {
    const body = `{"type":"a","timestamp":"2026-11-20T09:30:00Z","data":{"deep":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
    const event: WebhookEvent = { id: "evt_1", ...JSON.parse(body) };
    const decoded = decodeEntry(
      JSON.parse(JSON.stringify(encodeEntry({ ...decodeEntry(good), event, body: Buffer.from(body) }))),
    );
    expect(Buffer.from(decoded.body).toString()).toBe(body);
  });

  it("refuse the same entries: what is encoded can be decoded", () => {
    fc.assert(
      fc.property(fc.oneof(entries, entriesWith(anything, false)), (entry) => {
        let encoded: EncodedEntry;
        try {
          encoded = encodeEntry(entry);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_input" });
          return;
        }
        expect(plain(decodeEntry(JSON.parse(JSON.stringify(encoded))))).toEqual(plain(entry));
      }),
    );
  });

  it.each([
    ["a source that no store could keep", { source: "a\0b" }],
    ["an invalid receivedAt", { receivedAt: new Date(Number.NaN) }],
  ])("refuse %s before it is in a queue", (_, changes) => {
    const entry: InboxEntry = { ...decodeEntry(good), ...changes };
    expect(() => encodeEntry(entry)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });

  it.each([
    ["NUL", new Uint8Array([0, 0, 0])],
    ["every byte", Uint8Array.from({ length: 256 }, (_, n) => n)],
    ["half of a character in UTF-8", Buffer.from([0xf0, 0x9f, 0xa6])],
    ["nothing", new Uint8Array()],
    ["a part of a larger buffer", Buffer.from("abcdef").subarray(2, 4)],
  ])("carry a body of %s", (_, body) => {
    const decoded = decodeEntry(
      JSON.parse(JSON.stringify({ ...good, body: encodeEntry({ ...decodeEntry(good), body }).body })),
    );
    expect(Buffer.from(decoded.body)).toEqual(Buffer.from(body));
  });

  it.each([
    ["null", null, "is not an object"],
    ["a list", [good], "is not an object"],
    ["no id", { ...good, id: undefined }, "a wrong id: expected a string"],
    ["an id that no store could keep", { ...good, id: "a\0" }, "NUL"],
    ["a type that is a number", { ...good, type: 7 }, "a wrong type: expected a string or null"],
    [
      "a body that is a Buffer as JSON",
      { ...good, body: Buffer.from("{}").toJSON() },
      "a wrong body: expected base64",
    ],
    ["a body that is cut off", { ...good, body: "e30" }, "a wrong body: expected base64"],
    ["a body that is the text", { ...good, body: '{"a":1}' }, "a wrong body: expected base64"],
    ["a time in local time", { ...good, receivedAt: "2026-11-20T09:30:00" }, "a wrong receivedAt"],
    ["a time that is a number", { ...good, receivedAt: 1 }, "a wrong receivedAt"],
    ["a replay without its run", { ...good, replay: { rebuilt: true } }, "a wrong replay"],
    [
      "a replay with nested facts",
      { ...good, replay: { ...good.replay, delivery: { a: {} } } },
      "a wrong replay.delivery",
    ],
  ])("refuse %s, and name the wrong field", (_, given, problem) => {
    expect(() => decodeEntry(given)).toThrow(
      expect.objectContaining({ code: "invalid_input", message: expect.stringContaining(problem) }),
    );
  });
});
