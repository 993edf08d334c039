const masked = "•••";

// of libpq, of a URL's query, and of an object that Node.js prints
const namedPassword = /(\b\w*passw(?:or)?d["']?(?:\s*=\s*|:\s*(?=["'])))("[^"]*"|'[^']*'|[^\s&;,"']+)/gi;
const signingSecret = /whsec_[A-Za-z0-9+/=_-]{8,}/g;
const word = /[^\s"'`]+/g;
const user = /[^:/?#@[]*:/y;

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
