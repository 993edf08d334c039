import { WebhookError } from "../base/errors.ts";

const prefix = "whsec_";
const minBytes = 24;
const maxBytes = 64;
const copyAgain = "Copy the signingSecret again as the partner API returned it: whsec_ and then base64.";

/**
 * The key bytes of a signing secret: base64 of 24 to 64 bytes, after `whsec_` or bare (Standard Webhooks).
 * Throws `invalid_secret`, naming the mistake and never the secret.
 */
export function decodeSecret(secret: string): Buffer {
  const mistake = mistakeIn(secret);
  if (mistake !== undefined) throw new WebhookError("invalid_secret", mistake.problem, mistake.remedy);
  return Buffer.from(secret.slice(secret.startsWith(prefix) ? prefix.length : 0), "base64");
}

interface Mistake {
  problem: string;
  remedy: string;
}

function mistakeIn(secret: unknown): Mistake | undefined {
  if (typeof secret !== "string") {
    return {
      problem: `A signing secret must be a string; this one is ${secret === null ? "null" : `of type ${typeof secret}`}.`,
      remedy: copyAgain,
    };
  }
  if (secret === "") return { problem: "A signing secret is empty.", remedy: copyAgain };
  if (/^["'`]|["'`]$/.test(secret)) {
    return {
      problem: "A signing secret has quotes around it.",
      remedy: "Remove the quotes; the environment keeps them.",
    };
  }
  if (/\s/.test(secret)) {
    return {
      problem: "A signing secret has spaces in it.",
      remedy: "Remove them; give several secrets as a list.",
    };
  }
  if (secret.includes(",")) {
    return {
      problem: "A signing secret has a comma in it.",
      remedy: "Separate several secrets with spaces, or give a list.",
    };
  }
  if (/^\$|=whsec_/.test(secret)) {
    return {
      problem: "A signing secret is the name of a variable, or begins with one.",
      remedy: "Give the value of the variable.",
    };
  }
  if (secret.startsWith(prefix.repeat(2))) {
    return { problem: "A signing secret has the prefix whsec_ twice.", remedy: "Remove one of them." };
  }
  if (/^wh[ps]k_/.test(secret)) {
    return {
      problem:
        "This is a key for asymmetric signatures (whpk_ or whsk_), which the partner API does not use.",
      remedy: "Use the endpoint's signingSecret, which starts with whsec_.",
    };
  }
  const body = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  if (body === "") return { problem: "A signing secret has nothing after whsec_.", remedy: copyAgain };
  if (/^[a-z]+[_-]/i.test(body) && !secret.startsWith(prefix)) {
    return { problem: "A signing secret has a prefix other than whsec_.", remedy: copyAgain };
  }
  if (/^(?:[0-9a-f]{2}){16,}$/i.test(body)) {
    return {
      problem: "A signing secret is in hex, and reading hex as base64 would give another key.",
      remedy: `Encode the same bytes as base64: "whsec_" + Buffer.from(hex, "hex").toString("base64").`,
    };
  }
  if (/[-_]/.test(body) && /^[\w-]+={0,2}$/.test(body)) {
    return {
      problem: "A signing secret is in the URL-safe base64 alphabet (- and _).",
      remedy: "Write it in the standard alphabet: - becomes +, and _ becomes /.",
    };
  }
  const bytes = Buffer.from(body, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") !== body.replace(/={1,2}$/, "")) {
    return { problem: "A signing secret is not base64, or was cut short.", remedy: copyAgain };
  }
  if (bytes.length < minBytes || bytes.length > maxBytes) {
    return {
      problem: `A signing secret has ${bytes.length} bytes; Standard Webhooks wants ${minBytes} to ${maxBytes}.`,
      remedy: copyAgain,
    };
  }
  return undefined;
}
