import { isUint8Array } from "node:util/types";
import { WebhookError } from "../base/errors.ts";

const prefix = "whsec_";
const minBytes = 24;
const maxBytes = 64;
const copyAgain = "Copy the signingSecret again as the partner API returned it: whsec_ and then base64.";
const notTheClients = "The client_secret is no signing secret: each webhook endpoint has one of its own.";

/**
 * Returns the key bytes of a signing secret. Text is base64 of 24 to 64 bytes, after `whsec_` or bare (Standard Webhooks), or has any length after the
 * name of its form: `hex:…`, `base64:…` (either alphabet), `utf8:…` (the text itself is the key). Bytes are the key. Throws `invalid_secret`,
 * naming the mistake and never the secret.
 */
export function decodeSecret(secret: string | Uint8Array): Uint8Array {
  const decoded = isUint8Array(secret) ? secret : decodeText(secret);
  if ("problem" in decoded) throw new WebhookError("invalid_secret", decoded.problem, decoded.remedy);
  if (decoded.byteLength > 0) return decoded;
  throw new WebhookError("invalid_secret", "A signing secret is empty.", copyAgain);
}

interface Mistake {
  readonly problem: string;
  readonly remedy: string;
}

function decodeText(secret: unknown): Buffer | Mistake {
  const mistake = mistakeInText(secret);
  if (mistake !== undefined) return mistake;
  const text = secret as string;
  const [, form, rest = ""] = /^([a-z]\w*):(.*)$/i.exec(text) ?? [];
  if (form !== undefined) return decodeForm(form, rest);
  return mistakeInBase64(text) ?? Buffer.from(withoutPrefix(text), "base64");
}

/** A mistake that a secret of any form can have. */
function mistakeInText(secret: unknown): Mistake | undefined {
  if (typeof secret !== "string") {
    return {
      problem: `A signing secret must be a string or a Uint8Array; this one is ${secret === null ? "null" : `of type ${typeof secret}`}.`,
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
      remedy:
        "Remove them; give several secrets as a list. If they belong to the secret, write its bytes as hex:….",
    };
  }
  if (/^\$|=(?:whsec_|hex:|base64:|utf8:)/.test(secret)) {
    return {
      problem: "A signing secret is the name of a variable, or begins with one.",
      remedy: "Give the value of the variable.",
    };
  }
  if (/,(?:whsec_|hex:|base64:|utf8:)/.test(secret)) return comma;
  return undefined;
}

const comma: Mistake = {
  problem: "A signing secret has a comma in it.",
  remedy: "Separate several secrets with spaces, or give a list.",
};

function decodeForm(form: string, text: string): Buffer | Mistake {
  if (!["hex", "base64", "utf8"].includes(form)) {
    return {
      problem: "A signing secret begins with a form that does not exist.",
      remedy: "There are hex:, base64: and utf8:.",
    };
  }
  if (text === "") return { problem: `A signing secret has nothing after ${form}:.`, remedy: copyAgain };
  if (form === "utf8") return Buffer.from(text);
  if (/^(?:whsec_|hex:|base64:|utf8:)/.test(text)) {
    return {
      problem: `A signing secret has a second prefix after ${form}:.`,
      remedy: "Remove the one that is wrong.",
    };
  }
  if (form === "hex") {
    if (/^(?:[0-9a-f]{2})+$/i.test(text)) return Buffer.from(text, "hex");
    return {
      problem: "A signing secret is not hex, or was cut short.",
      remedy: "After hex: there are two of 0-9 and a-f for each byte.",
    };
  }
  if (isBase64(text.replaceAll("-", "+").replaceAll("_", "/"))) return Buffer.from(text, "base64");
  return { problem: "A signing secret is not base64, or was cut short.", remedy: "Copy it again." };
}

function mistakeInBase64(secret: string): Mistake | undefined {
  if (secret.includes(",")) return comma;
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
  const body = withoutPrefix(secret);
  if (body === "") return { problem: "A signing secret has nothing after whsec_.", remedy: copyAgain };
  if (body !== secret) return mistakeInBody(body, "in place of whsec_");
  const mistake = mistakeInBareText(secret);
  return mistake && { ...mistake, remedy: `${mistake.remedy} ${notTheClients}` };
}

/** A mistake in a secret without a known prefix, which may be another secret altogether. */
function mistakeInBareText(secret: string): Mistake | undefined {
  if (/^[a-z]+[_-]/i.test(secret)) {
    return {
      problem: "A signing secret has a prefix other than whsec_.",
      remedy: `${copyAgain} If the whole text is the key, write utf8: before it.`,
    };
  }
  return mistakeInBody(secret, "before it");
}

function mistakeInBody(body: string, inPlace: "before it" | "in place of whsec_"): Mistake | undefined {
  if (/^(?:[0-9a-f]{2}){16,}$/i.test(body)) {
    return {
      problem: "A signing secret looks like hex, and can be read in three ways, each of them another key.",
      remedy:
        `Write hex: ${inPlace} if the sender decodes it, utf8: if the text itself is the key, ` +
        "base64: if it is base64 after all. With a captured delivery, esim-webhooks verify finds out which.",
    };
  }
  if (/[-_]/.test(body) && /^[\w-]+={0,2}$/.test(body)) {
    return {
      problem: "A signing secret is in the URL-safe base64 alphabet (- and _).",
      remedy: `Write base64: ${inPlace}; or utf8:, if the text itself is the key.`,
    };
  }
  if (!isBase64(body)) {
    return {
      problem: "A signing secret is not base64, or was cut short.",
      remedy: `${copyAgain} If the text itself is the key, write utf8: ${inPlace}.`,
    };
  }
  const { length } = Buffer.from(body, "base64");
  if (length < minBytes || length > maxBytes) {
    return {
      problem: `A signing secret has ${length} bytes; Standard Webhooks wants ${minBytes} to ${maxBytes}.`,
      remedy: `${copyAgain} If it is complete, write base64: ${inPlace}; or utf8:, if the text itself is the key.`,
    };
  }
  return undefined;
}

function withoutPrefix(secret: string): string {
  return secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
}

function isBase64(text: string): boolean {
  return Buffer.from(text, "base64").toString("base64").replace(/=+$/, "") === text.replace(/={1,2}$/, "");
}
