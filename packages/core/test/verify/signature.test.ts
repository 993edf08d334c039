import { runInNewContext } from "node:vm";
import { createKeyring, sign, verify, WebhookError } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

// from the test suites of the Standard Webhooks libraries
const known = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: new Date(1614265330_000),
  body: '{"test": 2432232314}',
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

describe("known answers of Standard Webhooks", () => {
  it("signs to the known signature", () => {
    expect(sign(known, known.secret)).toEqual({
      "webhook-id": known.id,
      "webhook-timestamp": "1614265330",
      "webhook-signature": known.signature,
    });
  });

  it("verifies the known signature, at the time it was received", () => {
    const delivery = { headers: sign(known, known.secret), body: known.body };
    expect(verify(delivery, known.secret, { at: known.timestamp })).toMatchObject({
      ok: true,
      id: known.id,
      timestamp: 1614265330,
    });
    expect(verify(delivery, known.secret)).toMatchObject({ ok: false, code: "timestamp_out_of_tolerance" });
  });
});

describe("sign", () => {
  it.each([
    ["an id that no receiver takes", { id: "msg_ł" }],
    ["an empty id", { id: "" }],
    ["an id with a comma", { id: "a,b" }],
    ["no valid date", { id: "msg_1", timestamp: new Date(Number.NaN) }],
    ["a date before 1970", { id: "msg_1", timestamp: new Date(-5000) }],
  ])("refuses %s", (_, given) => {
    expect(() => sign({ ...given, body: "{}" }, newSecret())).toThrow(
      /cannot be signed with this id or timestamp\. An id has/,
    );
  });
});

describe("verify", () => {
  const secret = newSecret();
  const body = '{"type":"esim.assigned"}';
  const headers = sign({ id: "msg_1", body }, secret);
  const capitals = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace(/(^|-)./g, (c) => c.toUpperCase()), value]),
  );

  it.each([
    ["Node.js headers", headers],
    ["fetch Headers", new Headers({ ...headers })],
    ["a plain object in other case", capitals],
    [
      "lists of one value",
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    ],
    ["an object without a prototype", Object.assign(Object.create(null), headers)],
  ])("takes %s", (_, form) => {
    expect(verify({ headers: form, body }, secret).ok).toBe(true);
  });

  it.each([
    ["a string", body],
    ["a Buffer", Buffer.from(body)],
    ["a Uint8Array", new TextEncoder().encode(body)],
    ["a view into a larger buffer", new Uint8Array(Buffer.from(`xx${body}yy`)).subarray(2, 2 + body.length)],
  ])("takes a body as %s", (_, form) => {
    expect(verify({ headers, body: form }, secret).ok).toBe(true);
  });

  it.each([
    [{ headers: null, body }, "Headers must be an object or fetch Headers; got null"],
    [{ headers: "webhook-id: 1", body }, "got a string"],
    [{ headers: [["webhook-id", "1"]], body }, "got an array"],
    [
      { headers: { ...headers, "webhook-timestamp": 1700000000 }, body },
      "header value must be a string; got a number",
    ],
    [{ headers, body: { type: "esim.assigned" } }, "body must be a string or a Uint8Array; got Object"],
    [{ headers, body: null }, "got null"],
    [{ headers, body: undefined }, "got undefined"],
  ])("says what it got when it is neither: %#", (delivery, message) => {
    expect(() => verify(delivery as never, secret)).toThrow(message);
    try {
      verify(delivery as never, secret);
    } catch (error) {
      expect(WebhookError.is(error) && error.code).toBe("invalid_input");
    }
  });

  it("takes a Uint8Array of another realm, as test environments make them", () => {
    const foreign = runInNewContext("Uint8Array.from(bytes)", { bytes: Buffer.from(body) }) as Uint8Array;
    expect(foreign instanceof Uint8Array).toBe(false);
    expect(verify({ headers, body: foreign }, secret).ok).toBe(true);
  });

  it("compares nothing that an earlier comparison left, when a keyring of the caller's own answers too little", () => {
    const [key] = createKeyring(secret).keysAt(0);
    expect(verify({ headers, body }, secret).ok).toBe(true);
    for (const mac of ["", "AAAA"]) {
      const short = { keysAt: () => (key === undefined ? [] : [{ ...key, mac: () => mac }]) };
      expect(verify({ headers, body }, short)).toMatchObject({ ok: false, code: "no_matching_key" });
    }
  });

  it("refuses a key source, and says how to get its keys", () => {
    const source = { load: async () => [secret] };
    expect(() => verify({ headers, body }, source as never)).toThrow(
      /A key source was given.*\(await source\.load\(\)\)\.keys/,
    );
  });

  it("refuses when the time to verify at is no time, or the tolerance no number", () => {
    const refused = { ok: false, code: "timestamp_out_of_tolerance" };
    expect(verify({ headers, body }, secret, { at: new Date(Number.NaN) })).toMatchObject(refused);
    expect(verify({ headers, body }, secret, { toleranceSeconds: Number.NaN })).toMatchObject(refused);
  });

  it("says by fingerprint which of several keys matched", () => {
    const keyring = createKeyring([newSecret(), secret]);
    expect(verify({ headers, body }, keyring)).toMatchObject({
      ok: true,
      key: keyring.keysAt(0)[1]?.fingerprint,
    });
  });

  it("accepts what sign made, and nothing that differs in a single bit of the body or a character of a header", () => {
    const at = new Date("2026-11-20T12:00:00Z");
    const id = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
      minLength: 1,
      maxLength: 80,
    });
    fc.assert(
      fc.property(
        id,
        fc.uint8Array({ minLength: 1, maxLength: 400 }),
        fc.nat(),
        fc.nat(7),
        (anyId, bytes, at8, bit) => {
          fc.pre(!anyId.includes(","));
          const signed = sign({ id: anyId, body: bytes, timestamp: at }, secret);
          expect(verify({ headers: signed, body: bytes }, secret, { at }).ok).toBe(true);

          const flipped = Uint8Array.from(bytes);
          flipped[at8 % bytes.length] = (flipped[at8 % bytes.length] ?? 0) ^ (1 << bit);
          expect(verify({ headers: signed, body: flipped }, secret, { at })).toMatchObject({
            code: "no_matching_key",
          });
          const later = { ...signed, "webhook-timestamp": String(Number(signed["webhook-timestamp"]) + 1) };
          expect(verify({ headers: later, body: bytes }, secret, { at })).toMatchObject({
            code: "no_matching_key",
          });
          expect(
            verify({ headers: { ...signed, "webhook-id": `${anyId}x` }, body: bytes }, secret, { at }).ok,
          ).toBe(false);
        },
      ),
    );
  });

  it("never throws and never accepts for any headers and bytes it is not the signer of", () => {
    const header = fc.option(fc.oneof(fc.string(), fc.array(fc.string())), { nil: undefined });
    const anyHeaders = fc.record({
      "webhook-id": header,
      "webhook-timestamp": header,
      "webhook-signature": header,
    });
    fc.assert(
      fc.property(anyHeaders, fc.uint8Array(), (forged, bytes) => {
        expect(verify({ headers: forged, body: bytes }, secret).ok).toBe(false);
      }),
    );
  });
});
