import { createHmac } from "node:crypto";
import { type Key, type Secrets, sign, verify } from "@esim-webhooks/core";
import { explainVerification } from "@esim-webhooks/core/explain";
import { newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";

const at = new Date("2026-11-20T12:00:00Z");
const secret = newSecret();
const body = '{"type":"esim.assigned","data":{"iccid":"8932042000010012344"}}';
const headers = sign({ id: "msg_1", body, timestamp: at }, secret);
const bare = secret.slice("whsec_".length);
const bytes = Buffer.from(bare, "base64");
const urlBytes = Buffer.alloc(32, 0xfb); // with - and _ in the URL-safe alphabet

function signedWithBytes(key: Uint8Array) {
  return sign({ id: "msg_1", body, timestamp: at }, key);
}

function explain(given: { headers?: object; body?: string; secrets?: Secrets; at?: Date }) {
  const delivery = {
    headers: (given.headers ?? headers) as Record<string, string>,
    body: given.body ?? body,
  };
  const explanation = explainVerification(delivery, given.secrets ?? secret, { at: given.at ?? at });
  const text = JSON.stringify(explanation);
  expect(text).not.toContain(bare);
  expect(text).not.toContain(bytes.toString("hex"));
  expect(text).not.toContain("8932042000010012344");
  return explanation;
}

describe("explainVerification", () => {
  it("finds nothing when the delivery verifies", () => {
    expect(explain({})).toMatchObject({ verdict: { ok: true, id: "msg_1" }, findings: [] });
  });

  it("says which headers are missing, and which were renamed to what", () => {
    const { "webhook-id": id, "webhook-timestamp": timestamp } = headers;
    const renamed = { "Svix-Id": id, "webhook-timestamp": timestamp };
    for (const form of [renamed, new Headers(renamed)]) {
      expect(explain({ headers: form })).toMatchObject({
        verdict: { ok: false, code: "missing_header" },
        findings: [
          {
            code: "renamed_header",
            message: 'webhook-id is missing, but there is "svix-id". Keep the header\'s original name.',
          },
          {
            code: "missing_header",
            message: expect.stringMatching(/^webhook-signature is missing\. Let the proxies/),
          },
        ],
      });
    }
  });

  it("does not take an x-request-id for a renamed webhook-id", () => {
    const { "webhook-id": _, ...others } = headers;
    expect(explain({ headers: { "x-request-id": "1", ...others } }).findings).toMatchObject([
      { code: "missing_header" },
    ]);
  });

  it.each([
    ...["x-webhook-id", "X_Webhook_Id", "webhook_id", "webhooks-id", "svix-id", "x-svix-id"],
    ...["http-webhook-id", "http_webhook_id", "x-http-webhook-id", "standard-webhook-id"],
    ...["standard_webhook_id", "svix-webhook-id"],
  ])("takes %s for a renamed webhook-id", (name) => {
    const { "webhook-id": id, ...others } = headers;
    expect(explain({ headers: { [name]: id, ...others } }).findings).toMatchObject([
      { code: "renamed_header", message: expect.stringContaining(`"${name.toLowerCase()}"`) },
    ]);
  });

  it.each([
    ...["my-webhook-id", "webhook-id-of-old", "xwebhook-id", "httpwebhook-id", "webhookid"],
    ...["x.webhook-id", "http.webhook-id", "webhook-svix-id", "x-webhook-signature"],
  ])("does not take %s for a renamed webhook-id", (name) => {
    const { "webhook-id": id, ...others } = headers;
    expect(explain({ headers: { [name]: id, ...others } }).findings).toMatchObject([
      { code: "missing_header" },
    ]);
  });

  it("takes an empty header for a missing one, not for a renamed one", () => {
    expect(explain({ headers: { ...headers, "webhook-signature": "" } }).findings).toMatchObject([
      { code: "missing_header" },
    ]);
  });

  it("gives verify's verdict for a delivery that is stale and malformed too", () => {
    const both = { ...headers, "webhook-signature": "v1,x" };
    const late = new Date(at.getTime() + 7_200_000);
    expect(explain({ headers: both, at: late }).verdict).toMatchObject({ code: "malformed_header" });
  });

  it("says what is malformed in a header", () => {
    expect(explain({ headers: { ...headers, "webhook-timestamp": "noon" } }).findings).toEqual([
      {
        code: "malformed_header",
        message: expect.stringMatching(/^Webhook-timestamp is not decimal digits\. Check/),
      },
      { code: "wrong_secret_or_body", message: expect.any(String) },
    ]);
    for (const odd of ["", ["msg_1", "msg_2"]]) {
      expect(explain({ headers: { ...headers, "webhook-id": odd } }).findings[0]).toEqual({
        code: "malformed_header",
        message: expect.stringMatching(/^Webhook-id is empty, or is there more than once\. Check/),
      });
    }
  });

  it.each([
    ["", "hex_signature", /^The webhook-signature is in hex/],
    ["v1,", "hex_signature", /^The webhook-signature is in hex/],
    ["sha256=", "hex_signature", /^The webhook-signature is in hex/],
    [
      "v1,00",
      "malformed_header",
      /^Webhook-signature has a v1 signature of 66 characters, .* has 44\. Check/,
    ],
    ["sha256:", "malformed_header", /^Webhook-signature has no v1 signature in it\. Check/],
  ])("says of a signature in hex after %j: %s", (prefix, code, message) => {
    const hex = createHmac("sha256", bytes).update(body).digest("hex");
    const signature = `${prefix}${hex}`;
    const { findings } = explain({ headers: { ...headers, "webhook-signature": signature } });
    expect(findings).toEqual([{ code, message: expect.stringMatching(message) }]);
    const shorter = explain({ headers: { ...headers, "webhook-signature": signature.slice(0, -1) } });
    expect(shorter.findings).toMatchObject([{ code: "malformed_header" }]);
  });

  it("says which header of an authentic delivery cannot be used", () => {
    const signed = (timestamp: string) => {
      const mac = createHmac("sha256", bytes).update(`msg_1.${timestamp}.${body}`).digest("base64");
      return { ...headers, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` };
    };
    expect(explain({ headers: signed("noon") })).toMatchObject({
      verdict: { code: "unusable_header", headers: ["webhook-timestamp"] },
      findings: [
        {
          code: "malformed_header",
          message:
            "Webhook-timestamp is not in Unix seconds, as digits, and the delivery is authentic: report it to the provider.",
        },
      ],
    });
  });

  it("gives the clock's skew in seconds, and whether the signature itself is right", () => {
    const late = new Date(at.getTime() + 7_200_000);
    expect(explain({ at: late })).toMatchObject({
      verdict: { code: "timestamp_out_of_tolerance" },
      findings: [
        {
          code: "clock_skew",
          message: expect.stringMatching(/signed 7200 s before.*itself is right: set this/),
        },
      ],
    });
    const early = new Date(at.getTime() - 301_000);
    const { findings } = explain({ at: early, secrets: newSecret() });
    expect(findings.map(({ code }) => code)).toEqual(["wrong_secret_or_body", "clock_skew"]);
    expect(findings[1]?.message).toMatch(/signed 301 s after.*wrong too/);
  });

  it.each([
    ["milliseconds", 1000],
    ["microseconds", 1_000_000],
  ])("distinguishes a timestamp in %s from a wrong clock", (unit, perSecond) => {
    const signedAt = (seconds: number) => {
      const timestamp = String((at.getTime() / 1000 + seconds) * perSecond);
      const mac = createHmac("sha256", bytes).update(`msg_1.${timestamp}.${body}`).digest("base64");
      return { ...headers, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` };
    };
    const right = explain({ headers: signedAt(0) });
    expect(right).toMatchObject({
      verdict: {
        code: "timestamp_out_of_tolerance",
        reason: `webhook-timestamp is in ${unit}, not in seconds`,
      },
      findings: [
        {
          code: "timestamp_not_in_seconds",
          message: `Webhook-timestamp is in ${unit}, not in seconds. Read as ${unit}, it is right. Let the sender sign with Unix seconds.`,
        },
      ],
    });
    const late = explain({ headers: signedAt(-400) });
    expect(late.findings).toMatchObject([
      {
        code: "timestamp_not_in_seconds",
        message: expect.stringMatching(/it is not right either: it was signed 400 s before/),
      },
    ]);
  });

  it("says that the key which made the signature is not valid yet", () => {
    const early: Key = { secret, notBefore: "2026-11-20T13:00:00Z" };
    expect(explain({ secrets: [early] })).toMatchObject({
      verdict: { code: "key_not_yet_valid" },
      findings: [{ code: "key_outside_window" }],
    });
    const late = new Date(at.getTime() + 600_000);
    expect(explain({ secrets: [early], at: late }).findings).toMatchObject([
      { code: "key_outside_window" },
      { code: "clock_skew", message: expect.stringContaining("The signature itself is right") },
    ]);
  });

  it("says that another key of the keyring made the signature, one outside its window", () => {
    const retired: Key = { secret, notAfter: "2026-11-20T11:00:00Z" };
    const { findings } = explain({ secrets: [newSecret(), retired] });
    expect(findings).toEqual([
      {
        code: "key_outside_window",
        message: expect.stringMatching(/^key:[0-9a-f]{8} made the signature.*Correct its notB/),
      },
    ]);
  });

  it.each([
    ["text", signedWithBytes(Buffer.from(secret)), secret, "utf8: before it"],
    ["text without its prefix", signedWithBytes(Buffer.from(bare)), secret, "utf8: in place of whsec_"],
    ["hex", signedWithBytes(bytes), bytes.toString("hex"), "hex: before it"],
    ["hex", signedWithBytes(bytes), `whsec_${bytes.toString("hex")}`, "hex: in place of whsec_"],
    ["hex", signedWithBytes(bytes), `utf8:${bytes.toString("hex")}`, "hex: in place of utf8:"],
    ["base64", signedWithBytes(urlBytes), urlBytes.toString("base64url"), "base64: before it"],
    [
      "base64",
      signedWithBytes(Buffer.from(bytes.toString("hex"), "base64")),
      `hex:${bytes.toString("hex")}`,
      "base64: in place of hex:",
    ],
  ])("says that the secret was read as %s, and how to write it then: %#", (reading, signed, given, form) => {
    const { findings } = explain({ headers: signed, secrets: given });
    expect(findings.at(-1)).toEqual({
      code: "secret_misread",
      message: `The signature was made with the secret read as ${reading}. Write ${form}.`,
    });
    const [how = "", place = ""] = form.split(/ (?:before it|in place of )/);
    const rewritten = how + (place === "" ? given : given.slice(place.length));
    expect(explain({ headers: signed, secrets: rewritten }).verdict.ok).toBe(true);
  });

  it("reads a secret in an object otherwise, too, and its form is then the whole answer", () => {
    const hex = bytes.toString("hex");
    for (const given of [hex, { secret: hex }])
      expect(explain({ secrets: [given] as never }).findings).toEqual([
        { code: "secret_misread", message: expect.stringContaining("read as hex. Write hex: before it") },
      ]);
  });

  it.each([`zz${"00".repeat(32)}`, `${"00".repeat(32)}zz`])(
    "reads %s, which is not hex, not as hex",
    (text) => {
      const decoded = Buffer.from(text, "hex"); // stops at the first letter that is not hex
      const signed = signedWithBytes(decoded.byteLength > 0 ? decoded : Buffer.alloc(32));
      expect(explain({ headers: signed, secrets: `utf8:${text}` }).findings).toMatchObject([
        { code: "wrong_secret_or_body" },
      ]);
    },
  );

  it("explains a secret that cannot be right instead of throwing", () => {
    const { findings } = explain({ secrets: Buffer.alloc(32, 7).toString("hex") });
    expect(findings.map(({ code }) => code)).toEqual(["invalid_secret", "wrong_secret_or_body"]);
    expect(findings[0]?.message).toMatch(/looks like hex.*Write hex:/);
    expect(findings[1]?.message).toContain("(no usable key)");
    for (const wrong of [null, 42, new Uint8Array()]) {
      expect(explain({ secrets: [wrong] as never }).findings).toMatchObject([
        { code: "invalid_secret" },
        { code: "wrong_secret_or_body" },
      ]);
    }
  });

  it.each([
    ["this body's compacted JSON", JSON.stringify(JSON.parse(body), null, 4)],
    ["this body without the white space around it", ` ${body}\n`],
  ])("says that the signature is that of %s", (form, received) => {
    expect(explain({ body: received }).findings).toEqual([
      {
        code: "body_reserialised",
        message: expect.stringContaining(`The signature is that of ${form}. Verify the raw`),
      },
    ]);
  });

  it("says so when the signed body was indented, or ended in a line feed that was removed", () => {
    const indented = JSON.stringify(JSON.parse(body), null, 2);
    for (const signedBody of [indented, `${body}\n`]) {
      const signed = sign({ id: "msg_1", body: signedBody, timestamp: at }, secret);
      expect(explain({ headers: signed }).findings).toMatchObject([{ code: "body_reserialised" }]);
    }
  });

  it("names the keys that were tried when nothing fits", () => {
    const { verdict, findings } = explain({ secrets: [newSecret(), newSecret()] });
    expect(verdict).toMatchObject({ ok: false, code: "no_matching_key" });
    expect(findings).toMatchObject([{ code: "wrong_secret_or_body" }]);
    expect(findings[0]?.message).toMatch(/\(key:\w{8}, key:\w{8}\) made the signature over these 63 bytes/);
  });

  it.each([
    [
      "a key source",
      { load: async () => [secret] },
      /A key source was given.*\(await source\.load\(\)\)\.keys/,
    ],
    ["a number", 42, /a Uint8Array, a list or a key source; this one is of type number/],
  ])("says what to pass in place of %s", (_, secrets, message) => {
    expect(() => explain({ secrets: secrets as never })).toThrow(message);
  });

  it("says that the option at is not a valid date", () => {
    expect(() => explain({ at: new Date(Number.NaN) })).toThrow(/is not a valid Date\. Pass the time/);
  });

  it.each([
    ["that verifies", {}],
    ["that is stale", { at: new Date(at.getTime() + 7_200_000) }],
    ["of another secret", { secrets: newSecret() }],
    ["whose body was indented", { body: JSON.stringify(JSON.parse(body), null, 2) }],
    ["of a secret that is misread", { headers: signedWithBytes(Buffer.from(secret)) }],
  ])("explains a delivery %s in the same way if its headers were sent twice", (_, given) => {
    const twice = Object.entries("headers" in given ? given.headers : headers).map(([name, value]) => [
      name,
      [value, value],
    ]);
    const explanation = explain(given);
    expect(explain({ ...given, headers: Object.fromEntries(twice) })).toEqual(explanation);
  });

  it("gives the verdict that verify gives", () => {
    const late = new Date(at.getTime() + 7_200_000);
    for (const when of [at, late]) {
      expect(explain({ at: when }).verdict).toEqual(verify({ headers, body }, secret, { at: when }));
    }
  });
});
