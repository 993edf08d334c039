import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { baseGrammar } from "../base-grammar.ts";
import { bytesOf, type Grammar, type Input } from "../grammar.ts";

/** The keys of the receiver: the current one, and the one before. */
export const secrets: readonly [string, string] = [
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
];
const foreign = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const oracles = secrets.map((secret) => new Webhook(secret));

/** A delivery as it arrives, from a generated input. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * The rules of a signed delivery. In a timestamp, `$N` stands for now, `$P` and `$F` for the past and the future, `$M` for now in ms. In a
 * signature, `$1`, `$2` and `$X` stand for the right signature by each key and by a foreign one, `$U` for that of the id in UTF-8, `$O` for
 * that of an id which was sent twice, `$R` for that without leading zeros of the timestamp, `$C` for the right one with another end.
 */
export const signedGrammar: Grammar = {
  ...baseGrammar,
  now: ["$N", "$N", "$N", "$P", "$F", "$M", "0$N", "$N.5", "+$N", "$N, $N", "-1", "<digits>", "<characters>"],
  name: ["msg_<digits>", "msg_7, msg_7", "<id>", "<private>", "<character>"],
  version: ["v1", "v1", "v1", "v2", "v1a", "V1", "", "v1 "],
  mac: [
    "$1",
    "$1",
    "$1",
    "$2",
    "$X",
    "$U",
    "$O",
    "$R",
    "$C",
    `${"A".repeat(43)}=`,
    "<characters>",
    "$1=",
    " $1",
  ],
  separator: [" ", " ", ",", ", ", "\t", ""],
  signatures: [
    "v1,$1",
    "<version>,<mac>",
    "<version>,<mac><separator><signatures>",
    "<long><signatures>",
    "",
  ],
};

/** The parts of a signed delivery: id, timestamp, signature, body. */
export const signedParts = ["<name>", "<now>", "<signatures>", "<event>"] as const;

const keys = new Map(
  [...secrets, foreign].map((secret) => [secret, createSecretKey(secret.slice("whsec_".length), "base64")]),
);

function mac(secret: string, prefix: string, body: Uint8Array): string {
  const hmac = createHmac("sha256", keys.get(secret) as KeyObject);
  return hmac.update(prefix, "latin1").update(body).digest("base64");
}

/** Node.js refuses more for all headers. */
const longestHeader = 16 * 1024;

/** The delivery of an input. */
export function signedOf([anyId = "", time = "", signature = "", text = ""]: Input): Signed {
  const body = Buffer.from(text, "latin1");
  const id = anyId.slice(0, longestHeader);
  const now = Math.floor(Date.now() / 1000);
  const timestamp = time
    .replace("$N", String(now))
    .replace("$P", String(now - 1000))
    .replace("$F", String(now + 1000))
    .replace("$M", String(now * 1000))
    .slice(0, longestHeader);
  const macs: Readonly<Record<string, () => string>> = {
    $1: () => mac(secrets[0], `${id}.${timestamp}.`, body),
    $C: () => `${mac(secrets[0], `${id}.${timestamp}.`, body).slice(0, 40)}AAA=`,
    $2: () => mac(secrets[1], `${id}.${timestamp}.`, body),
    $X: () => mac(foreign, `${id}.${timestamp}.`, body),
    $U: () => mac(secrets[0], bytesOf(`${id}.${timestamp}.`), body),
    $O: () => mac(secrets[0], `${id.slice(0, (id.length - 2) / 2)}.${timestamp}.`, body),
    $R: () => mac(secrets[0], `${id}.${Number.parseInt(timestamp, 10)}.`, body),
  };
  const made = new Map<string, string>();
  const signatures = signature
    .replace(/\$[12XUORC]/g, (name) => {
      const known = made.get(name) ?? macs[name]?.() ?? name;
      made.set(name, known);
      return known;
    })
    .slice(0, longestHeader);
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures };
  return { headers, body };
}

/** A header as if it had been sent once, if it was sent twice and joined. */
function once(text: string): string {
  for (const comma of [", ", ","]) {
    const half = text.slice(0, (text.length - comma.length) / 2);
    if (half !== "" && text === half + comma + half) return half;
  }
  return text;
}

/**
 * Whether one of our keys made a signature over a delivery, worked out without our verifier. "no": none of their signatures is anywhere in
 * the header. "yes": one is, as a `v1` member of a list. "odd": one is, and only the grammar of the list decides. If the id was sent twice, so
 * was a timestamp that looks like it, since no timestamp has a comma.
 */
export function authenticity({ headers, body }: Signed): "yes" | "odd" | "no" {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const list = headers["webhook-signature"] ?? "";
  const members = list.split(/[ \t]+/);
  const asSent = [`${id}.${timestamp}.`, `${once(id)}.${once(timestamp)}.`];
  let isIn = false;
  for (const secret of secrets)
    for (const prefix of new Set(asSent.flatMap((one) => [one, bytesOf(one)]))) {
      const right = mac(secret, prefix, body);
      if (members.includes(`v1,${right}`)) return "yes";
      isIn ||= list.includes(right);
    }
  return isIn ? "odd" : "no";
}

/** Whether `standardwebhooks` accepts a delivery with one of our keys. */
export function oracleAccepts({ headers, body }: Signed): boolean {
  return oracles.some((oracle) => {
    try {
      oracle.verify(body, { ...headers }, { jsonParse: false } as never);
      return true;
    } catch {
      return false;
    }
  });
}
