/** Replaces what is masked. */
export const masked = "•••";

const secretNames = "passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key";
const secretName = new RegExp(`(?:${secretNames})$`, "i");
// of libpq, of a URL's query or a form, of JSON, and of an object that Node.js prints
const namedSecret = new RegExp(
  `(\\b\\w*(?:${secretNames})["']?(?:\\s*=\\s*|:\\s*(?=["'])))("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|[^\\s&]+)`,
  "gi",
);
const authorization = /\b(bearer|basic)\s+[\w+/=.~-]{16,}/gi;
const signingSecret = /whsec_[A-Za-z0-9+/=_-]{8,}/g;
const word = /\S+/g;
const user = /[^:/?#[]*:/y;

/** The variables of ours whose value is a secret of any form. */
const ownVariables = ["ESIM_CLIENT_SECRET", "ESIM_WEBHOOK_SECRET"];
/** A shorter value may be a word of a message. */
const shortestOwn = 8;
let known: readonly string[] | undefined;

/** Read once: at the first call, since not every runtime has variables while a module is loaded. */
function ownSecrets(): readonly string[] {
  known ??= ownVariables
    .flatMap((name) => process.env[name]?.trim().split(/\s+/) ?? [])
    .filter((value) => value.length >= shortestOwn);
  return known;
}

/**
 * Masks the secrets that a text quotes: passwords of URLs and of connection strings, values with the name of a password, a secret, a
 * token or an API key, authorization headers, signing secrets, and the values of our own variables.
 */
export function maskSecrets(text: string): string {
  return ownSecrets()
    .reduce((shown, secret) => shown.replaceAll(secret, masked), text)
    .replace(namedSecret, `$1${masked}`)
    .replace(authorization, `$1 ${masked}`)
    .replace(signingSecret, `whsec_${masked}`)
    .replace(word, maskUrls);
}

/** The same for a field of an object, whose name may say that its value is a secret. */
export function maskField(name: string, value: string): string {
  return secretName.test(name) ? masked : maskSecrets(value);
}

/**
 * Masks what follows `://user:` up to the last `@`, since a password may contain one, and quotes. Without an `@`, only a number can be a
 * port.
 */
function maskUrls(text: string): string {
  for (let at = text.indexOf("://"); at !== -1; at = text.indexOf("://", user.lastIndex)) {
    const begin = at + "://".length;
    user.lastIndex = begin;
    if (user.test(text)) return text.slice(0, user.lastIndex) + maskPassword(text.slice(user.lastIndex));
    user.lastIndex = begin;
  }
  return text;
}

function maskPassword(rest: string): string {
  const at = rest.lastIndexOf("@");
  if (at !== -1) return masked + rest.slice(at);
  return /^\d{1,5}(?!\w)/.test(rest) || rest === "" ? rest : rest.replace(/^[^/?#]+/, masked);
}
