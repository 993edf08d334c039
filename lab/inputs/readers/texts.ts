import { createKeyring, esimCatalog, type Parsed } from "@esim-webhooks/core";
import { decodeEntry, encodeEntry, readCursor, writeCursor } from "@esim-webhooks/core/engine";
import { keyRecordsIn, maskEvent, readBody } from "@esim-webhooks/core/internal";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { baseGrammar } from "../base-grammar.ts";
import { type Grammar, textOf } from "../grammar.ts";
import { checkSecrecy, reader } from "../reader.ts";
import { secrets } from "./signed.ts";

/** The text of an error must not quote the secret that it is about. A name of up to 20 characters may be a field's. */
function checkNoQuote(message: string, secret: string): void {
  const parts = secret.match(/[\w+/=-]{21,}/g) ?? [];
  checkSecrecy(
    message,
    "the message",
    parts.map((part) => part.slice(0, 21)),
  );
}

const envelope = reader({
  name: "envelope: the catalog",
  share: 20,
  grammar: { ...baseGrammar, encoding: ["", "gzip", "br", "<characters>"] },
  parts: ["<id>", "<event>", "<encoding>"],
  throws: [],
  prepare: ([id = "", text = "", encoding = ""]) => ({ id, body: Buffer.from(text, "latin1"), encoding }),
  call: ({ id, body, encoding }) => esimCatalog.parse(id, body, encoding) as Parsed<unknown>,
  check(parsed, { body }) {
    const { kind, type } = parsed;
    let json: { readonly type?: unknown } | null | undefined;
    try {
      json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    } catch {
      if (kind !== "invalid") throw new Error(`a body that is not JSON is ${kind}`);
    }
    const isKnown = (esimCatalog.types as readonly string[]).includes(String(type));
    if (kind !== "invalid" && (json?.type !== type || isKnown !== (kind === "known")))
      throw new Error(`${kind} with a wrong type`);
    if (kind === "invalid") checkSecrecy(JSON.stringify(parsed.issues), "the issues");
    if (kind !== "invalid" && parsed.event.type !== type) throw new Error("the event has another type");
  },
});

const masking = reader({
  name: "masking: an event as operators see it",
  share: 8,
  grammar: baseGrammar,
  parts: ["<event>"],
  throws: [],
  mostCpuMs: 500, // no sender waits for it
  prepare: ([text = ""]) => Buffer.from(text, "latin1"),
  call(body) {
    const { json } = readBody(body);
    return JSON.stringify(json === undefined ? null : maskEvent(json));
  },
  check: (shown) => checkSecrecy(shown, "the event that is shown"),
});

const secretGrammar: Grammar = {
  ...baseGrammar,
  private: ["correct-horse-battery-staple"],
  good: [secrets[0], `hex:${"0f".repeat(20)}`, "utf8:correct-horse-battery", "base64:AAECAwQFBgc"],
  form: ["whsec_", "hex:", "base64:", "utf8:", "whsk_", "sk_", "HEX:", "ESIM_SECRET=", "$SECRET", '"', ""],
  secret: ["<good>", "<good>", "<form><good>", "<good><form>", "<form><characters>", "<good>,<good>"],
  secrets: ["<secret>", "<secret> <secret>", "<secret>\n<secret>", " <secret>"],
  window: ['"notBefore":"<time>"', '"notAfter":"<time>"', '"endpoint":<text>', "<member>"],
  key: ['"<secret>"', '{"secret":"<secret>"}', '{"secret":"<secret>",<window>}', "<json>"],
  keys: ["<key>", "<key>,<keys>"],
  record: ['"rotatingUntil":"<time>"', '"environment":"test"', '"change":{<members>}', "<member>"],
  keyfile: ['{"keys":[<keys>]}', '{"keys":[<keys>],<record>}', "<secrets>", "[<keys>]", "<json>", "\ufeff{}"],
};

const secret = reader({
  name: "secret: a signing secret",
  share: 8,
  grammar: secretGrammar,
  parts: ["<secrets>"],
  throws: ["invalid_secret", "missing_secret"],
  prepare: ([text = ""]) => textOf(text),
  call: (text) => createKeyring(text).keysAt(0),
  check() {},
  checkError: checkNoQuote,
});

const records = keyRecordsIn("The key file keys.json");

const keyFile = reader({
  name: "key file: its text",
  share: 8,
  grammar: secretGrammar,
  parts: ["<keyfile>"],
  throws: ["invalid_secret", "missing_secret"],
  prepare: ([text = ""]) => textOf(text),
  call(text) {
    const { keys } = records.loaded(records.read(text, "version").record);
    return createKeyring(keys).keysAt(0);
  },
  check() {},
  checkError: checkNoQuote,
});

const base64 = (text: string) => Buffer.from(text, "latin1").toString("base64");

const entry = reader({
  name: "queue message: an encoded entry",
  share: 5,
  grammar: {
    ...baseGrammar,
    encoded: [
      `{"source":"a","id":"msg_7","type":"<type>","body":"${base64('{"type":"x"}')}","receivedAt":"2026-11-20T10:00:00.000Z"}`,
      '{"source":"<word>","id":"<id>","type":null,"body":"","receivedAt":"2026-11-20T10:00:00.000Z","replay":{"run":"a","rebuilt":true,"delivery":{<members>}}}',
      '{"source":<json>,"id":<json>,"type":<json>,"body":<json>,"receivedAt":<json>}',
      "<json>",
    ],
  },
  parts: ["<encoded>"],
  throws: ["invalid_input"],
  prepare: ([text = ""]) => jsonOf(textOf(text)),
  call: decodeEntry,
  check(decoded) {
    const again = decodeEntry(JSON.parse(JSON.stringify(encodeEntry(decoded))));
    if (again.id !== decoded.id || !Buffer.from(again.body).equals(decoded.body))
      throw new Error("an entry that was read is not written as it was");
  },
});

/** JSON that a program passes on, parsed: null for text that is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const inbox = memoryInbox();

const cursor = reader({
  name: "cursor: of a list of events",
  share: 5,
  grammar: {
    ...baseGrammar,
    cursor: [
      '{"receivedAt":"<digits>","source":"a","id":"<id>"}',
      '{"receivedAt":"<characters>","source":<text>,"id":<text>}',
      "<json>",
    ],
    form: ["base64", "raw"],
  },
  parts: ["<cursor>", "<form>"],
  throws: ["invalid_input"],
  prepare: ([text = "", form = ""]) =>
    form === "raw" ? textOf(text) : Buffer.from(text, "latin1").toString("base64url"),
  call(cursor) {
    const place = readCursor(cursor, () => true);
    if (JSON.stringify(readCursor(writeCursor(place), () => true)) !== JSON.stringify(place))
      throw new Error("a cursor is not read as it was written");
    return inbox.list({}, { cursor });
  },
  check() {},
});

export const textReaders = [envelope, masking, secret, keyFile, entry, cursor];
