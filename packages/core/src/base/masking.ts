/** Stands for a masked text. */
export const masked = "•••";

const secretNames = "passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key";
const secretName = new RegExp(`(?:${secretNames})$`, "i");
// in a connection string of libpq, a URL's query, a form, JSON, or an object that Node.js prints
const namedSecret = new RegExp(
  `(\\b\\w*(?:${secretNames})["']?(?:\\s*=\\s*|:\\s*(?=["'])))("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|[^\\s&]+)`,
  "gi",
);
const authorization = /\b(bearer|basic)\s+[\w+/=.~-]{16,}/gi;
const signingSecret = /whsec_[A-Za-z0-9+/=_-]{8,}/g;
const word = /\S+/g;
const user = /[^:/?#[]*:/y;

/** Our own environment variables, whose values are secrets of any form. */
const ownVariables = [
  "ESIM_CLIENT_SECRET",
  "ESIM_WEBHOOK_SECRET",
  "ESIM_TEST_CLIENT_SECRET",
  "ESIM_TEST_WEBHOOK_SECRET",
];
/** The shortest value that is masked: a shorter one may be a word of a message. */
const shortestOwn = 8;
let known: readonly string[] | undefined;

/** The secrets in our variables, read once, at the first call: not every runtime has variables while a module is loaded. */
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

/** Masks the secrets in the value of a field, or the whole value if the name of the field is that of a secret. */
export function maskField(name: string, value: string): string {
  return secretName.test(name) ? masked : maskSecrets(value);
}

/**
 * Masks the password after `://user:` in a word: up to the last `@`, since a password may contain `@` and quotes. Without an `@`, masks the
 * text up to the path, but not a port.
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

const activationCode = /LPA:1\$\S*|\b1\$[a-z0-9.-]+\$\S+/gi;

/**
 * Masks secrets, activation codes, e-mail addresses and numbers of ten digits or more, but not dates and IP addresses, anywhere in a text that
 * may quote personal data, such as an error's message. Its time is linear in the length of the text.
 */
export function maskPersonalData(text: string): string {
  return maskNumbers(maskAddresses(maskSecrets(text)).replace(activationCode, masked));
}

const beforeAt = /[\w.+-]/;
const afterAt = /(?:[\w-]+\.)+[a-z]{2,}/iy;

/** Masks e-mail addresses. Looks at each character before an `@` only once. */
function maskAddresses(text: string): string {
  let shown = "";
  let end = 0;
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    afterAt.lastIndex = at + 1;
    let start = at;
    while (start > end && beforeAt.test(text.charAt(start - 1))) start -= 1;
    if (start === at || !afterAt.test(text)) continue;
    shown += text.slice(end, start) + masked;
    end = afterAt.lastIndex;
    at = end - 1;
  }
  return shown + text.slice(end);
}

const numberStart = /\+?\d/g;
// ICCID, EID, MSISDN, with or without separators. One pattern for a whole number could overflow the engine's stack.
const numberPart = /\d+|[ \-.()/]{1,2}(?=\d)/y;

function maskNumbers(text: string): string {
  let shown = "";
  let end = 0;
  numberStart.lastIndex = 0;
  for (let found = numberStart.exec(text); found !== null; found = numberStart.exec(text)) {
    shown += text.slice(end, found.index);
    end = numberEnd(text, numberStart.lastIndex);
    shown += maskNumber(text.slice(found.index, end));
    numberStart.lastIndex = end;
  }
  return shown + text.slice(end);
}

function numberEnd(text: string, start: number): number {
  let end = start;
  numberPart.lastIndex = start;
  while (numberPart.test(text)) end = numberPart.lastIndex;
  return end;
}

const fewestDigits = 10;
const date = /(?:19|20)\d\d-\d\d-\d\d(?:[ ]\d\d(?!\d))?\D*/y;
const ipAddress = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

/** Masks a number, except a short one, an IP address, and the dates that it begins with. */
function maskNumber(number: string): string {
  let rest = 0;
  let digits = digitsIn(number);
  date.lastIndex = 0;
  while (digits >= fewestDigits && date.test(number)) {
    digits -= digitsIn(number.slice(rest, date.lastIndex));
    rest = date.lastIndex;
  }
  const last = number.slice(rest);
  const isHarmless = digits < fewestDigits || ipAddress.test(last);
  return number.slice(0, rest) + (isHarmless ? last : masked);
}

function digitsIn(text: string): number {
  return text.replace(/\D/g, "").length;
}

/** The most characters that `shortened` keeps of a text: as many as a store keeps of an error. */
const mostCharacters = 4000;

/** Returns a short text as it is, and of a longer one its beginning and how much is left out. */
export function shortened(text: string): string {
  const more = text.length - mostCharacters;
  if (more <= 0) return text;
  return `${text.slice(0, mostCharacters)}… (${more.toLocaleString("en")} more characters)`;
}

/** Masks a text that may quote personal data or secrets, and shortens it. */
export function maskText(text: string): string {
  return shortened(maskPersonalData(text));
}
