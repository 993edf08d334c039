import { createHmac } from "node:crypto";
import { inspect } from "node:util";
import { createKeyring, type Secrets, sign, verify, WebhookError } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";

const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, i) => i * 7 + 250));
const base64 = (length: number) => bytes(length).toString("base64");

function errorOf(secret: unknown): WebhookError<string> {
  try {
    createKeyring(secret as Secrets);
  } catch (error) {
    if (WebhookError.is(error)) return error;
  }
  throw new Error("no WebhookError was thrown");
}

describe("a secret that cannot be right is an error at start-up that says which mistake it is", () => {
  const mistakes: [string, unknown, RegExp][] = [
    ["a list holding an empty one", [""], /is empty\. Copy/],
    ["a variable's sign in its middle", `whsec_${base64(24)}$abc`, /is not base64, or was cut short/],
    ["an asymmetric key's prefix in its middle", `whsec_${"A".repeat(32)}whsk_`, /URL-safe base64/],
    ["a prefix in its middle", `12345678901234567890123456789012abc_`, /URL-safe base64/],
    ["a form after a digit", `9hex:${"00".repeat(32)}`, /is not base64, or was cut short/],
    ["a second form in its middle", `base64:${"A".repeat(32)}hex:`, /is not base64, or was cut short/],
    ["a sign before URL-safe base64", `whsec_%${"A-_A".repeat(8)}`, /is not base64, or was cut short/],
    ["a sign after URL-safe base64", `whsec_${"A-_A".repeat(8)}%`, /is not base64, or was cut short/],
    ["a comma in its middle", `whsec_${"A".repeat(32)},`, /a comma in it/],
    ["nothing after the prefix", "whsec_", /nothing after whsec_\. Copy/],
    ["quotes", `"whsec_${base64(32)}"`, /quotes around it\. Remove/],
    ["a quote before it alone", `'whsec_${base64(32)}`, /quotes around it\. Remove/],
    ["a quote after it alone", `whsec_${base64(32)}\``, /quotes around it\. Remove/],
    ["spaces in a list's secret", [`whsec_${base64(32)} `], /spaces in it\. Remove/],
    ["hex", bytes(32).toString("hex"), /looks like hex.*Write hex: before it.*utf8:.*base64:/],
    ["hex after the prefix", `whsec_${bytes(24).toString("hex")}`, /Write hex: in place of whsec_/],
    ["URL-safe base64", `whsec_${bytes(32).toString("base64url")}`, /URL-safe.*Write base64: in place of/],
    ["nothing after a form", "hex:", /nothing after hex:\. Copy/],
    ["half a byte of hex", `hex:${bytes(20).toString("hex")}a`, /not hex, or was cut short\. After hex:/],
    ["no hex before hex", "hex:zz00ff00ff", /not hex, or was cut short\. After hex:/],
    ["no hex after hex", "hex:00ff00ffzz", /not hex, or was cut short\. After hex:/],
    ["hex in another form", "base64:hex:00ff00ff", /second prefix after base64:/],
    ["another form in hex", "hex:utf8:00ff00ff", /second prefix after hex:/],
    ["less hex than can be a key", bytes(15).toString("hex"), /not base64, or was cut short/],
    ["the least hex that can be a key", bytes(16).toString("hex"), /looks like hex/],
    ["URL-safe base64 with padding", `whsec_${bytes(31).toString("base64url")}-=`, /URL-safe/],
    ["no base64 after the form", "base64:a*b", /not base64, or was cut short/],
    ["two prefixes", `base64:whsec_${base64(32)}`, /second prefix after base64:/],
    ["a form that does not exist", `HEX:${bytes(32).toString("hex")}`, /There are hex:, base64: and utf8:/],
    ["two forms with a comma between them", "utf8:one-secret,utf8:another", /comma in it\. Separate/],
    ["no bytes", new Uint8Array(), /is empty/],
    ["not base64", "whsec_….", /not base64, or was cut short/],
    ["cut short", `whsec_${base64(33).slice(0, -3)}`, /not base64, or was cut short/],
    ["one byte", "whsec_AA==", /has 1 bytes; Standard Webhooks wants 24 to 64/],
    ["23 bytes", `whsec_${base64(23)}`, /has 23 bytes/],
    ["65 bytes", `whsec_${base64(65)}`, /has 65 bytes/],
    [
      "two secrets with a comma between them",
      `whsec_${base64(32)},whsec_${base64(33)}`,
      /comma in it\. Separate/,
    ],
    ["a variable that was not expanded", "$ESIM_WEBHOOK_SECRET", /the name of a variable/],
    [
      "the variable's name with its value",
      `ESIM_WEBHOOK_SECRET=whsec_${base64(32)}`,
      /the name of a variable/,
    ],
    ["a variable's name with hex", "SECRET=hex:00ff00ff", /the name of a variable/],
    ["two secrets of which the second has a form", `utf8:one,hex:00ff`, /comma in it\. Separate/],
    ["the prefix twice", `whsec_whsec_${base64(32)}`, /prefix whsec_ twice\. Remove one/],
    ["a public key", `whpk_${base64(32)}`, /asymmetric.*whsec_/],
    ["a private key", `whsk_${base64(32)}`, /asymmetric.*whsec_/],
    ["another prefix", `sk_live_${base64(32)}`, /a prefix other than whsec_/],
    ["an upper-case prefix", `WHSEC_${base64(32)}`, /a prefix other than whsec_/],
    ["a number", [42], /must be a string or a Uint8Array; this one is of type number/],
    ["null", [null], /must be a string or a Uint8Array; this one is null/],
    [
      "a number in place of the secret",
      42,
      /a string, a Uint8Array, a list or a key source; this one is of type number\. Pass/,
    ],
    ["null in place of the secret", null, /this one is null/],
    ["an object that is no source", {}, /this one is of type object/],
    ["a function", () => "whsec_", /this one is of type function/],
  ];
  it.each(mistakes)("%s", (_, secret, message) => {
    const error = errorOf(secret);
    expect(error.code).toBe("invalid_secret");
    expect(error.message).toMatch(message);
    for (const text of [secret].flat()) {
      const body = String(text).replace(/^"?(whsec_)?|"$/g, "");
      if (body.length > 4) expect(error.message).not.toContain(body.trim());
    }
  });

  it.each([
    ["with a prefix of its own", `sandbox_${base64(24)}`],
    ["in hex", bytes(24).toString("hex")],
    ["in URL-safe base64", Buffer.from([0xfb, 0xff, ...bytes(30)]).toString("base64url")],
    ["in no base64", "correct.horse.battery.staple"],
    ["of another length", base64(12)],
  ])("says of a text without whsec_ that the client_secret is no signing secret: %s", (_, secret) => {
    expect(errorOf(secret).message).toMatch(/The client_secret is no signing secret: each webhook endpoint/);
    expect(errorOf(`whsec_${base64(12)}`).message).not.toContain("client_secret");
  });

  it("reads any text without another error than invalid_secret or missing_secret", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `whsec_${text}`),
          fc.base64String(),
        ),
        (secret) => {
          try {
            createKeyring(secret);
          } catch (error) {
            expect(WebhookError.is(error) && ["invalid_secret", "missing_secret"].includes(error.code)).toBe(
              true,
            );
          }
        },
      ),
    );
  });
});

describe("a secret whose form is said", () => {
  const key = bytes(20); // of another length than Standard Webhooks wants
  const text = "sk_live_łódź,2026=";
  const delivery = (secret: string | Uint8Array) => {
    const body = "{}";
    return { body, headers: sign({ id: "msg_1", body }, secret) };
  };

  it.each([
    ["hex", `hex:${key.toString("hex")}`, key],
    ["hex in capitals", `hex:${key.toString("hex").toUpperCase()}`, key],
    ["base64", `base64:${key.toString("base64")}`, key],
    ["base64 without padding", `base64:${key.toString("base64").replaceAll("=", "")}`, key],
    ["base64 of URLs", `base64:${key.toString("base64url")}`, key],
    ["text", `utf8:${text}`, Buffer.from(text)],
    ["text that looks like another form", "utf8:hex:00ff", Buffer.from("hex:00ff")],
    ["bytes", new Uint8Array(key), key],
  ])("is read as %s, and makes the signature of those bytes", (_, secret, expected) => {
    const mac = createHmac("sha256", expected);
    const { headers, body } = delivery(secret);
    mac.update(`msg_1.${headers["webhook-timestamp"]}.${body}`);
    expect(headers["webhook-signature"]).toBe(`v1,${mac.digest("base64")}`);
    for (const secrets of [secret, [newSecret(), secret], [{ secret }]]) {
      expect(verify({ headers, body }, secrets).ok).toBe(true);
    }
  });

  it.each([
    ["24 bytes, the least", `whsec_${base64(24)}`, bytes(24)],
    ["64 bytes, the most", `whsec_${base64(64)}`, bytes(64)],
    ["base64 without whsec_", base64(32), bytes(32)],
    ["text with a variable's sign in it", "utf8:pa$word", Buffer.from("pa$word")],
    ["text with a quote in it", "utf8:it's-mine", Buffer.from("it's-mine")],
    ["text with a comma in it", "utf8:one,two", Buffer.from("one,two")],
  ])("may be %s", (_, secret, expected) => {
    const { headers, body } = delivery(secret);
    expect(verify({ headers, body }, expected).ok).toBe(true);
  });

  it.each([
    ["begins", `${"00".repeat(16)}zzzz`],
    ["ends", `zzzz${"00".repeat(16)}`],
  ])("is base64 where only a part of it, with which it %s, looks like hex", (_, text) => {
    const { headers, body } = delivery(Buffer.from(text, "base64"));
    expect(verify({ headers, body }, `whsec_${text}`).ok).toBe(true);
  });

  it("may come from the environment, several at once", () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", `hex:${key.toString("hex")} utf8:${text} ${newSecret()}`);
    try {
      expect(createKeyring().keysAt(0)).toHaveLength(3);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("is named with the environment variable when it cannot be right", () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", `"${newSecret()}"`);
    try {
      expect(() => createKeyring()).toThrow(
        "ESIM_WEBHOOK_SECRET: A signing secret has quotes around it. Remove",
      );
      expect(() => createKeyring('"utf8:a"')).toThrow(/^A signing secret has quotes/);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("gives the sender's key by each of the ways that the remedy for hex names", () => {
    const hex = bytes(32).toString("hex");
    const { message } = errorOf(hex);
    const senders = {
      "hex:": Buffer.from(hex, "hex"),
      "utf8:": Buffer.from(hex),
      "base64:": Buffer.from(hex, "base64"),
    };
    for (const [form, sender] of Object.entries(senders)) {
      expect(message).toContain(form);
      expect(verify(delivery(sender), form + hex).ok).toBe(true);
    }
  });
});

describe("no secret", () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ["none at all", undefined],
    ["an empty string", ""],
    ["white space", " \n"],
    ["an empty list", []],
  ])("%s is an error that names the environment variable", (_, secret) => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", undefined);
    const error = errorOf(secret);
    expect(error.code).toBe("missing_secret");
    expect(error.message).toMatch(/Set ESIM_WEBHOOK_SECRET/);
  });

  it("is not missed when the environment variable has it", () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", newSecret());
    expect(createKeyring().keysAt(0)).toHaveLength(1);
  });
});

describe("a keyring", () => {
  it("takes several secrets as a list or separated by spaces, in order", () => {
    const [first, second] = [newSecret(), newSecret()];
    const fingerprints = (secret: Secrets) =>
      createKeyring(secret)
        .keysAt(0)
        .map((key) => key.fingerprint);
    expect(fingerprints([first, second])).toHaveLength(2);
    expect(fingerprints(` ${first}\n${second} ${first}\n`)).toEqual(fingerprints([first, second, first]));
  });

  it("takes a secret with and without its prefix, and with and without padding, as the same key", () => {
    const bare = base64(32);
    const forms = [`whsec_${bare}`, bare, bare.replace("=", "")];
    expect(new Set(createKeyring(forms).keysAt(0).map(String)).size).toBe(1);
  });

  it("prints keys as fingerprints in every form", () => {
    const secret = newSecret();
    const [key] = createKeyring(secret).keysAt(0);
    const printed = [
      String(key),
      `${key}`,
      JSON.stringify({ key }),
      inspect(key),
      inspect({ deep: { key } }),
      inspect(createKeyring(secret)),
    ];
    for (const text of printed) {
      expect(text).not.toContain(secret.slice(6));
      expect(text).not.toContain(Buffer.from(secret.slice(6), "base64").toString("hex"));
    }
    expect(printed[0]).toMatch(/^key:[0-9a-f]{8}$/);
    expect(inspect(key)).toBe(String(key));
  });
});
