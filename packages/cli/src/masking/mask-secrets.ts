const masked = "•••";

// of libpq, of a URL's query, and of an object that Node.js prints
const namedPassword = /(\b\w*passw(?:or)?d["']?(?:\s*=\s*|:\s*(?=["'])))("[^"]*"|'[^']*'|[^\s&;,"']+)/gi;
const signingSecret = /whsec_[A-Za-z0-9+/=_-]{8,}/g;
const word = /[^\s"'`]+/g;

/** Masks the passwords of URLs and of connection strings, and signing secrets, wherever a text quotes them. */
export function maskSecrets(text: string): string {
  return text
    .replace(namedPassword, `$1${masked}`)
    .replace(signingSecret, `whsec_${masked}`)
    .replace(word, maskUrls);
}

/**
 * Masks what follows `://user:` up to the last `@`, since a password may contain one. Without an `@`, only a number can be a
 * port.
 */
function maskUrls(text: string): string {
  const slashes = text.indexOf("://");
  if (slashes === -1) return text;
  const begin = slashes + "://".length;
  const user = /^[^:/?#@[]*:/.exec(text.slice(begin))?.[0];
  if (user === undefined) return text.slice(0, begin) + maskUrls(text.slice(begin));
  const head = text.slice(0, begin) + user;
  const rest = text.slice(head.length);
  const at = rest.lastIndexOf("@");
  if (at !== -1) return head + masked + rest.slice(at);
  return head + (/^\d{1,5}(?!\w)/.test(rest) || rest === "" ? rest : rest.replace(/^[^/?#]+/, masked));
}
