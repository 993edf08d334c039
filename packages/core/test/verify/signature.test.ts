import { createHmac } from "node:crypto";
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
    ["an id that is not visible ASCII", { id: "msg_é" }],
    ["an empty id", { id: "" }],
    ["an id that is too long", { id: "m".repeat(1025) }],
    ["no valid date", { id: "msg_1", timestamp: new Date(Number.NaN) }],
    ["a date before 1970", { id: "msg_1", timestamp: new Date(-5000) }],
  ])("refuses %s", (_, given) => {
    const call = () => sign({ ...given, body: "{}" }, newSecret());
    expect(call).toThrow(/cannot be signed with this id or timestamp\. An id has/);
    expect(call).toThrow(expect.objectContaining({ code: "invalid_input" }));
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

  it("makes one HMAC for each key, for any number of signatures, and as many again for an id that was sent twice", () => {
    const macs: string[] = [];
    const watched = createKeyring([newSecret(), newSecret()])
      .keysAt(0)
      .map((key) => ({
        ...key,
        mac: (...args: Parameters<typeof key.mac>) => {
          macs.push(key.fingerprint);
          return key.mac(...args);
        },
      }));
    const signatures = Array(30).fill(headers["webhook-signature"]).join(" ");
    const keyring = { keysAt: () => watched, keysAfter: () => [] };
    const refused = verify({ headers: { ...headers, "webhook-signature": signatures }, body }, keyring);
    expect(refused).toMatchObject({ ok: false, code: "no_matching_key" });
    const once = watched.map(({ fingerprint }) => fingerprint);
    expect(macs).toEqual(once);
    const twice = { ...headers, "webhook-id": "msg_1, msg_1", "webhook-signature": signatures };
    expect(verify({ headers: twice, body }, keyring).ok).toBe(false);
    expect(macs).toEqual([...once, ...once, ...once]);
  });

  it("compares nothing that an earlier comparison left, when a keyring of the caller's own answers too little", () => {
    const [key] = createKeyring(secret).keysAt(0);
    expect(verify({ headers, body }, secret).ok).toBe(true);
    for (const mac of ["", "AAAA"]) {
      const short = {
        keysAt: () => (key === undefined ? [] : [{ ...key, mac: () => mac }]),
        keysAfter: () => [],
      };
      expect(verify({ headers, body }, short)).toMatchObject({ ok: false, code: "no_matching_key" });
    }
  });

  it("says that there is no usable key now, if all begin later or have ended", () => {
    const ended = { secret: newSecret(), notAfter: "2026-01-01T00:00:00Z" };
    expect(verify({ headers, body }, [ended])).toMatchObject({
      code: "no_matching_key",
      reason: "there is no usable key now",
    });
  });

  it("names by fingerprint the keys that ended before, and no others", () => {
    const at = Date.parse("2026-11-20T12:00:00Z");
    const windows = [
      { secret: newSecret(), notAfter: new Date(at) },
      { secret: newSecret(), notBefore: new Date(at), notAfter: new Date(at + 1) },
      { secret: newSecret(), notBefore: new Date(at + 1) },
    ];
    const keyring = createKeyring(windows);
    const [ended, valid, later] = windows.map(
      ({ secret }) => createKeyring(secret).keysAt(at)[0]?.fingerprint,
    );
    const fingerprints = (keys: readonly { readonly fingerprint: string }[] | undefined) =>
      keys?.map(({ fingerprint }) => fingerprint);
    expect(fingerprints(keyring.keysBefore?.(at))).toEqual([ended]);
    expect(fingerprints(keyring.keysAt(at))).toEqual([valid]);
    expect(fingerprints(keyring.keysAfter(at))).toEqual([later]);
  });

  it("refuses a key source, and says how to get its keys", () => {
    const source = { load: async () => [secret] };
    expect(() => verify({ headers, body }, source as never)).toThrow(
      /A key source was given.*\(await source\.load\(\)\)\.keys/,
    );
  });

  it.each([
    [null, "the options are not an object. Pass"],
    [{ tolerance: 5 }, 'there is no option "tolerance". There are: at, toleranceSeconds.'],
    [{ at: new Date(Number.NaN) }, '"at" is not a valid Date. Pass'],
    [{ at: "2026-11-20T12:00:00Z" }, '"at" is not a valid Date. Pass'],
    [{ at: null }, '"at" is not a valid Date. Pass'],
    ...[null, true, "300", 0, Number.NaN, Number.POSITIVE_INFINITY, { past: null }, { before: 5 }].map(
      (toleranceSeconds): [object, string] => [{ toleranceSeconds }, '"toleranceSeconds": expected whole'],
    ),
  ])("checks its options: %j", (options, message) => {
    const call = () => verify({ headers, body }, secret, options as never);
    expect(call).toThrow(message);
    expect(call).toThrow(expect.objectContaining({ code: "invalid_option", where: "verify" }));
  });

  it("takes options that are undefined, as where a variable is not set", () => {
    const options = { at: undefined, toleranceSeconds: undefined };
    expect(verify({ headers, body }, secret, options).ok).toBe(true);
    const bounds = { past: undefined, future: undefined };
    expect(verify({ headers, body }, secret, { toleranceSeconds: bounds }).ok).toBe(true);
  });

  it("says how far the timestamp of an authentic delivery is off, and in which direction", () => {
    const signedAt = Number(headers["webhook-timestamp"]) * 1000;
    const verdictAt = (seconds: number) =>
      verify({ headers, body }, secret, {
        at: new Date(signedAt + seconds * 1000),
        toleranceSeconds: { past: 600, future: 20 },
      });
    expect(verdictAt(600).ok).toBe(true);
    expect(verdictAt(-20).ok).toBe(true);
    const code = "timestamp_out_of_tolerance";
    expect(verdictAt(601)).toMatchObject({ ok: false, code, skew: { direction: "past", seconds: 601 } });
    expect(verdictAt(-21)).toMatchObject({ ok: false, code, skew: { direction: "future", seconds: 21 } });
    const at = new Date(signedAt + 1000);
    expect(verify({ headers, body }, secret, { at, toleranceSeconds: 1 }).ok).toBe(true);
  });

  it("calls a forged delivery forged, however old it is", () => {
    const at = new Date(Date.now() + 3_600_000);
    expect(verify({ headers, body }, newSecret(), { at })).toMatchObject({ code: "no_matching_key" });
  });

  it("tells the key that is not valid yet from one that is no more, and from a forgery", () => {
    const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
    const [before, after] = [-1000, 1000].map((ms) => new Date(at.getTime() + ms));
    const verdict = (key: object) => verify({ headers, body }, [newSecret(), { secret, ...key }], { at });
    expect(verdict({ notBefore: after })).toMatchObject({
      code: "key_not_yet_valid",
      key: createKeyring(secret).keysAt(0)[0]?.fingerprint,
    });
    expect(verdict({ notAfter: before })).toMatchObject({
      code: "no_matching_key",
      endedKey: createKeyring(secret).keysAt(0)[0]?.fingerprint,
    });
    for (const window of [{ notBefore: after }, { notAfter: before }]) {
      const forged = verdict({ secret: newSecret(), ...window });
      expect(forged).toMatchObject({ code: "no_matching_key" });
      expect(forged).not.toHaveProperty("endedKey");
    }
    expect(verdict({ notBefore: at })).toMatchObject({ ok: true });
  });

  it("names all headers that are missing, and the one that is malformed", () => {
    const refused = (changes: object) => verify({ headers: { ...headers, ...changes }, body }, secret);
    expect(verify({ headers: {}, body }, secret)).toEqual({
      ok: false,
      code: "missing_header",
      headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
      reason: "webhook-id, webhook-timestamp, webhook-signature are missing or empty",
    });
    expect(refused({ "webhook-id": undefined, "webhook-signature": "" })).toMatchObject({
      code: "missing_header",
      headers: ["webhook-id", "webhook-signature"],
    });
  });

  it.each([
    ["v2,none", "no v1 signature in it"],
    ["v1,", "no v1 signature in it"],
    ["v1,none", "a v1 signature of 4 characters, and base64 of an HMAC-SHA256 has 44"],
    [`v1,${"A".repeat(43)}`, "a v1 signature of 43 characters, and base64 of an HMAC-SHA256 has 44"],
    [`v1,${"_".repeat(43)}=`, "a v1 signature that is not base64"],
  ])("says what is wrong with the signature %s", (signature, found) => {
    expect(verify({ headers: { ...headers, "webhook-signature": signature }, body }, secret)).toEqual({
      ok: false,
      code: "malformed_header",
      headers: ["webhook-signature"],
      reason: `webhook-signature has ${found}`,
    });
  });

  it("names a single header that is missing", () => {
    const { "webhook-id": _, ...others } = headers;
    expect(verify({ headers: others, body }, secret)).toMatchObject({
      headers: ["webhook-id"],
      reason: "webhook-id is missing or empty",
    });
    expect(verify({ headers: { ...headers, "webhook-signature": [] }, body }, secret)).toMatchObject({
      headers: ["webhook-signature"],
    });
  });

  const right = headers["webhook-signature"];
  const wrong = sign({ id: "msg_1", body }, newSecret())["webhook-signature"];

  it.each([
    ["after one of another key", `${wrong} ${right}`],
    ["before one of another key", `${right} ${wrong}`],
    ["after one of another version", `v1a,${"A".repeat(86)}== ${right}`],
    ["in a header that was repeated, and joined with commas", `${wrong},${right}`],
    ["in a header that was repeated, and joined as fetch does", `${wrong}, ${right}`],
    ["in a header that was repeated, as a list", [wrong, right]],
    ["after a comma with a blank", right.replace(",", ", ")],
    ["after a comma with tabs", right.replace(",", "\t,\t ")],
    ["between tabs", `${wrong}\t${right}\t`],
    ["after one that is read strictly", `${wrong} ${right.replace(",", ", ")}`],
    ["among empty members", `,, ${wrong}, ,${right},`],
  ])("finds the right signature %s", (_, signature) => {
    expect(verify({ headers: { ...headers, "webhook-signature": signature }, body }, secret).ok).toBe(true);
  });

  it.each([
    ["without its version", right.slice("v1,".length)],
    ["of another version", right.replace("v1,", "v2,")],
    ["with something before its version", `x${right}`],
    ["with something after it", `${right}x`],
    ["that is cut short", right.slice(0, -2)],
    ["without its padding", right.slice(0, -1)],
  ])("takes no signature %s for one, though it begins or ends with the right one", (_, signature) => {
    expect(verify({ headers: { ...headers, "webhook-signature": signature }, body }, secret)).toMatchObject({
      code: "malformed_header",
    });
  });

  it.each([
    ["the id", { "webhook-id": "msg_1, msg_1" }],
    ["the id, joined without a blank", { "webhook-id": "msg_1,msg_1" }],
    ["the timestamp", { "webhook-timestamp": [headers["webhook-timestamp"], headers["webhook-timestamp"]] }],
    [
      "all headers",
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}, ${value}`])),
    ],
  ])("reads %s that was sent twice as sent once, so the id stays the same", (_, changes) => {
    const given = { ...headers, ...changes };
    expect(verify({ headers: given, body }, secret)).toMatchObject({ ok: true, id: "msg_1" });
    expect(verify({ headers: given, body }, newSecret())).toMatchObject({ code: "no_matching_key" });
  });

  it("reads an id that was signed with a repetition in it as it was signed", () => {
    const mac = createKeyring(secret)
      .keysAt(0)[0]
      ?.mac(`a, a.${headers["webhook-timestamp"]}.`, Buffer.from(body));
    const given = { ...headers, "webhook-id": "a, a", "webhook-signature": `v1,${mac}` };
    expect(verify({ headers: given, body }, secret)).toMatchObject({ ok: true, id: "a, a" });
  });

  it.each<[string, object, unknown]>([
    ["a header that is a list with a number in it", { "webhook-id": ["msg_1", 2] }, "got a number"],
    ["a header that is an object", { "webhook-id": {} }, "header value must be a string"],
  ])("does not read %s", (_, changes, message) => {
    const given = { ...headers, ...changes } as never;
    expect(() => verify({ headers: given, body }, secret)).toThrow(message as string);
  });

  it("reads no header that an object has only by its prototype", () => {
    const inherited = Object.create({ "webhook-id": headers["webhook-id"] });
    Object.assign(inherited, { ...headers, "webhook-id": undefined });
    delete inherited["webhook-id"];
    expect(verify({ headers: inherited, body }, secret)).toMatchObject({ code: "missing_header" });
  });

  it.each([
    ["webhook-timestamp", "msg_1", "x1795176000"],
    ["webhook-timestamp", "msg_1", "1795176000x"],
    ["webhook-timestamp", "msg_1", "1".repeat(17)],
    ["webhook-timestamp", "msg_1", ""],
    ["webhook-id", "", "1795176000"],
    ["webhook-id", "m".repeat(1025), "1795176000"],
  ])("refuses an authentic delivery whose %s is of no use, and says so: %j, %j", (header, id, timestamp) => {
    const [key] = createKeyring(secret).keysAt(0);
    const mac = key?.mac(`${id}.${timestamp}.`, Buffer.from(body));
    const signed = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` };
    expect(verify({ headers: signed, body }, secret)).toMatchObject({
      ok: false,
      code: "unusable_header",
      headers: [header],
      key: key?.fingerprint,
      reason: expect.stringMatching(`^${header} is not .* and the delivery is authentic: report it`),
    });
  });

  it.each([
    [1e11 - 1, /^signed \d+ s after this machine's time, and toleranceSeconds is 300$/],
    [1e11, "webhook-timestamp is in milliseconds, not in seconds"],
    [1e14 - 1, "webhook-timestamp is in milliseconds, not in seconds"],
    [1e14, "webhook-timestamp is in microseconds, not in seconds"],
  ])("says of a timestamp that is too large what it may be: %d", (seconds, reason) => {
    const [key] = createKeyring(secret).keysAt(0);
    const mac = key?.mac(`msg_1.${seconds}.`, Buffer.from(body));
    const signed = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1,${mac}`,
    };
    expect(verify({ headers: signed, body }, secret)).toMatchObject({
      code: "timestamp_out_of_tolerance",
      reason: expect.stringMatching(reason),
    });
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

  it("refuses a signature that differs in any one of its 44 characters", () => {
    const [version, mac = ""] = right.split(",");
    for (let place = 0; place < mac.length - 1; place += 1) {
      const other = mac[place] === "A" ? "B" : "A";
      const signature = `${version},${mac.slice(0, place)}${other}${mac.slice(place + 1)}`;
      expect(
        verify({ headers: { ...headers, "webhook-signature": signature }, body }, secret),
        `place ${place}`,
      ).toMatchObject({ code: "no_matching_key" });
    }
    expect(mac).toHaveLength(44);
  });

  it("identifies a delivery by the bytes of the id that were signed, however its header spells them", () => {
    const at = new Date("2026-11-20T12:00:00Z");
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
        fc.constantFrom(10, 6000),
        (id, length) => {
          const bytes = Buffer.alloc(length, "{");
          const inUtf8 = Buffer.from(id).toString("latin1"); // as Node.js and fetch read it
          const mac = createHmac("sha256", key).update(`${id}.1795176000.`).update(bytes).digest("base64");
          for (const sent of [inUtf8, id]) {
            const signed = { ...headers, "webhook-id": sent, "webhook-timestamp": "1795176000" };
            const delivery = { headers: { ...signed, "webhook-signature": `v1,${mac}` }, body: bytes };
            expect(verify(delivery, secret, { at })).toMatchObject({ ok: true, id });
          }
        },
      ),
      { examples: [["Ã©", 10]] },
    );
  });

  it("does not take a character for its low byte, by which a captured delivery would get another id", () => {
    const signed = sign({ id: "AA", body }, secret);
    const verdict = verify({ headers: { ...signed, "webhook-id": "\u0141\u0141" }, body }, secret);
    expect(verdict).toMatchObject({ code: "no_matching_key" });
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
