import { describe, expect, it } from "vitest";
import { readCapturedRequest } from "../../src/record/captured-request.ts";
import { createRecordReader, type Mapping } from "../../src/record/record-reader.ts";
import { isRoundedNumber, recordedEvent } from "../../src/record/recorded-event.ts";

const maxDepth = 4;
const signed = { "webhook-id": "a", "webhook-signature": "v1,x" };
const receivedAt = "2026-11-01T12:00:00Z";
const read = (change: object) => readCapturedRequest({ headers: signed, body: "{}", ...change }, maxDepth);
const recordOf = (value: unknown, mapping?: Mapping) => createRecordReader(mapping, maxDepth)(value);

describe("the time of a captured request", () => {
  it.each<[unknown, string | null]>([
    [undefined, null],
    [null, null],
    ["", null],
    [1_262_304_000, "2010-01-01T00:00:00.000Z"],
    [1_262_304_000_000, "2010-01-01T00:00:00.000Z"],
    [4_102_444_799, "2099-12-31T23:59:59.000Z"],
    [4_102_444_799_999, "2099-12-31T23:59:59.999Z"],
    ["1793534400.25", "2026-11-01T12:00:00.250Z"],
    ["1793534400123", "2026-11-01T12:00:00.123Z"],
    [1_793_534_400.0006, "2026-11-01T12:00:00.001Z"],
  ])("may be %j", (value, time) => {
    const request = read({ receivedAt: value });
    expect("receivedAt" in request && (request.receivedAt?.toISOString() ?? null)).toBe(time);
  });

  it.each<[RegExp, readonly unknown[]]>([
    [/has no offset/, ["2026-11-01T12:00", "2026-11-01t12:00:00", "2026-11-01 12:00:00.25"]],
    [/a spreadsheet has rounded/, ["1.79E+12", "1,79e+12"]],
    [
      /is not a date-time/,
      [
        1_262_303_999,
        4_102_444_800,
        1_262_303_999_999,
        4_102_444_800_000,
        true,
        "at 2026-11-01T12:00:00",
        "2026-11-01T12:00:00 local",
        "2026-11-01T12:00:00.",
        "x1793534400",
        "1793534400s",
        "1793534400.",
        "12:00",
      ],
    ],
  ])("is refused, and the reason %s", (reason, values) => {
    for (const value of values)
      expect(read({ receivedAt: value })).toEqual({
        fault: "not_a_record",
        reason: expect.stringMatching(reason),
      });
  });
});

describe("the body of a captured request", () => {
  const bytesOf = (body: unknown, more: object = {}) => {
    const request = read({ body, ...more });
    if ("fault" in request) return request.fault;
    const texts = request.bodies.map((bytes) => Buffer.from(bytes).toString("latin1"));
    return { texts, payload: request.payload, isGuess: request.isGuess };
  };
  const base64 = Buffer.from('{"a":1}').toString("base64");

  it.each<[string, unknown, readonly string[], object]>([
    ["text", '{"a":1}', ['{"a":1}'], { a: 1 }],
    ["text that is no JSON", "a:b", ["a:b"], {}],
    ["text that is a list", "[1,2]", ["[1,2]"], {}],
    ["base64 or text", base64, ['{"a":1}', base64], { a: 1 }],
    ["base64 with spaces at its end", `${base64} \n`, ['{"a":1}', `${base64} \n`], { a: 1 }],
    ["text that ends like base64", "ä e30=", ["\u00c3\u00a4 e30="], {}],
    ["text that begins like base64", "e30=!", ["e30=!"], {}],
    ["bytes that are not UTF-8", [0x22, 0xff, 0x22], ['"\u00ff"'], {}],
    [
      "an object whose bytes are not UTF-8",
      [...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')],
      ['{"a":"\u00ff"}'],
      {},
    ],
    ["the bytes 0 and 255", [0, 255], ["\u0000\u00ff"], {}],
    ["no bytes", [], [""], {}],
  ])("is kept byte for byte: %s", (_, body, texts, payload) => {
    expect(bytesOf(body)).toEqual({ texts, payload, isGuess: false });
  });

  it("is nothing but its decoded bytes when it says that it is base64", () => {
    expect(bytesOf(base64, { isBase64Encoded: true })).toMatchObject({ texts: ['{"a":1}'] });
    expect(bytesOf(base64, { isBase64Encoded: "true" })).toMatchObject({ texts: ['{"a":1}', base64] });
  });

  it.each([
    {},
    { type: "Buffer", data: "e30=" },
    { type: "esim.enabled", data: [123] },
    { 0: 123, 2: 125 },
    { a: 1, 0: 123 },
    { 0: 123, 1: 256 },
  ])("is a guess if it is an object: %j", (body) => {
    expect(bytesOf(body)).toEqual({ texts: [JSON.stringify(body)], payload: body, isGuess: true });
  });

  it.each([[[-1]], [[1.5]], [["1"]], [[256]]])("is no body: %j", (body) => {
    expect(bytesOf(body)).toBe("not_a_record");
  });

  it("is no payload when it is nested too deeply", () => {
    expect(bytesOf('{"a":[[[]]]}')).toMatchObject({ payload: { a: [[[]]] } });
    expect(bytesOf('{"a":[[[[]]]]}')).toMatchObject({ payload: {} });
  });
});

describe("the headers of a captured request", () => {
  const headersOf = (headers: unknown) => {
    const request = read({ headers });
    return "fault" in request ? request.fault : request.headers;
  };

  it.each<[string, unknown, object]>([
    [
      "a header twice",
      [
        ["A", "1"],
        ["a", "2"],
      ],
      { a: ["1", "2"] },
    ],
    ["a list of one value", { a: ["1"] }, { a: "1" }],
    ["a list of no value", { a: [] }, { a: [] }],
    ["HTTP_ in the middle of a name", { X_HTTP_ID: "1" }, { "x-http-id": "1" }],
    ["lines with empty ones", "\n \na: b\r\n\r\nc:d : e \n", { a: "b", c: "d : e" }],
    ["a request line", "POST /a?b HTTP/1.1\na: b", { a: "b" }],
    ["other headers that are not text", { a: 1, b: ["c", 2], "x-webhook-": {}, d: "e" }, { d: "e" }],
  ])("are read by name: %s", (_, headers, expected) => {
    expect(headersOf(headers)).toEqual(expected);
  });

  it.each([
    ["a name without a value", [["a"]]],
    ["three texts", [["a", "b", "c"]]],
    ["a name that is no text", [[1, "b"]]],
    ["a signature that is no text", { "webhook-signature": ["v1,x", 1] }],
    ["JSON text of text", JSON.stringify("Webhook-Id: msg_1")],
    ["JSON text that is nested too deeply", "[[[[[1]]]]]"],
    ["no line", "\n"],
    ["nothing but a request line", "POST / HTTP/1.1"],
    ["words before a name", "the webhook-id: a"],
    ["words before a request line", "a POST / HTTP/1.1\nwebhook-id: a"],
    ["words after a request line", "POST / HTTP/1.1 a\nwebhook-id: a"],
    ["a line that is no header", "webhook-id: a\nb"],
  ])("cannot be read: %s", (_, headers) => {
    expect(headersOf(headers)).toBe("not_a_record");
  });
});

describe("a record that is a delivery and a captured request", () => {
  const delivery = { eventId: "a", payload: { type: "esim.enabled" }, body: "{}", receivedAt };

  it.each([{}, null, "", { "webhook-id": "a" }])(
    "is read as the delivery if nothing in its headers is signed: %j",
    (headers) => {
      expect(recordOf({ ...delivery, headers })).toMatchObject({ id: "a", request: null, delivery });
    },
  );

  it("is read as the request if it is signed, and is invalid if its headers cannot be read", () => {
    expect(recordOf({ ...delivery, headers: signed })).toMatchObject({ request: { isSigned: true } });
    expect(recordOf({ ...delivery, headers: 5 })).toMatchObject({ fault: "not_a_record" });
  });

  it("is neither without one half of either", () => {
    for (const half of [
      { eventId: "a" },
      { payload: {} },
      { headers: signed },
      { body: "{}" },
      null,
      [delivery],
    ])
      expect(recordOf(half)).toMatchObject({ reason: expect.stringContaining("neither a delivery") });
  });
});

describe("a field of another shape", () => {
  const payload = { type: "esim.enabled" };
  const idAt = (record: object, eventId: string) =>
    recordOf({ ...record, payload }, { eventId, payload: "payload" });

  it("is found by its path, or by a name with dots", () => {
    expect(idAt({ a: { b: { c: "1" } } }, "a.b.c")).toMatchObject({ id: "1" });
    expect(idAt({ a: { "b.c": "1" } }, "a.b.c")).toMatchObject({ id: "1" });
    expect(idAt({ "a.b": "1", a: { b: "2" } }, "a.b")).toMatchObject({ id: "1" });
  });

  it.each(["a.x", "ab", "a.b.length", "x.b"])("is missing at %s", (path) => {
    expect(idAt({ a: { b: "1", ab: "2" } }, path)).toMatchObject({ fault: "not_a_record" });
  });
});

describe("the event of a record", () => {
  it("may be JSON text, nested as deeply as a record may be", () => {
    const nested = (depth: number) =>
      JSON.stringify({ a: JSON.parse("[".repeat(depth) + "]".repeat(depth)) });
    const event = (depth: number) => recordOf({ eventId: "a", payload: nested(depth) });
    expect(event(maxDepth - 1)).toMatchObject({ id: "a", payload: { a: [[[]]] } });
    expect(event(maxDepth)).toMatchObject({ id: "a", fault: "too_deep" });
    expect(recordOf({ eventId: "a", payload: "none" })).toMatchObject({ id: "a", fault: "not_json" });
  });

  it("has no type if that is empty or no text, and no time if that is none", () => {
    for (const type of ["", 5, undefined])
      expect(recordedEvent("a", { type, timestamp: "today" }, null, null)).toMatchObject({
        type: null,
        occurredMs: Number.NaN,
      });
  });

  it("may have been rounded by a spreadsheet, by the form of its id", () => {
    for (const id of ["1.23E+17", " 1,23e17 ", "1E+5", "1.2E+5", "1e+300"])
      expect(isRoundedNumber(id)).toBe(true);
    for (const id of [
      "12.3E+17",
      "1.23E+1700",
      "x1.23E+17",
      "1.23E+17x",
      "1E17",
      "123",
      "1.23",
      ".23E+17",
      "1;2E+5",
    ])
      expect(isRoundedNumber(id)).toBe(false);
  });
});
