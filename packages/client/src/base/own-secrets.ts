/** The secrets of a client, which a text from elsewhere may repeat: a problem that quotes what was sent, an error of the transport. */
export interface OwnSecrets {
  /** Hides this secret from now on, also as JSON, URLs and forms encode it. */
  add(secret: string): void;
  /** The text with `•••` in place of each secret. */
  hide(text: string): string;
  /** A copy of JSON in which no text and no name of a field has a secret. It lacks objects and arrays that are nested more than ten deep. */
  hideIn(json: unknown): unknown;
}

const hidden = "•••";
/** The client secret is added each time that the service is asked for a token, just before that token: so it is among the newest 20 while an answer can repeat it. */
const mostSecrets = 20;
const mostLevels = 10;

export function createOwnSecrets(): OwnSecrets {
  const secrets = new Set<string>();
  let forms: readonly string[] = [];

  const hide = (text: string) => forms.reduce((rest, form) => rest.replaceAll(form, hidden), text);

  function hideIn(json: unknown, levels: number): unknown {
    if (typeof json === "string") return hide(json);
    if (typeof json !== "object" || json === null) return json;
    if (levels === 0) return undefined;
    if (Array.isArray(json)) return json.map((value) => hideIn(value, levels - 1));
    return Object.fromEntries(
      Object.entries(json).map(([name, value]) => [hide(name), hideIn(value, levels - 1)]),
    );
  }

  return {
    add(secret) {
      secrets.delete(secret);
      secrets.add(secret);
      for (const oldest of [...secrets].slice(0, -mostSecrets)) secrets.delete(oldest);
      forms = [...secrets].flatMap(formsOf).sort((one, other) => other.length - one.length);
    },
    hide,
    hideIn: (json) => hideIn(json, mostLevels),
  };
}

/** The secret, and how it looks in JSON, in a URL and in a form. The digits of an encoded byte may be of either case. */
function formsOf(secret: string): string[] {
  const wellFormed = secret.toWellFormed();
  const encoded = [
    encodeURIComponent(wellFormed),
    new URLSearchParams([["", wellFormed]]).toString().slice(1),
  ];
  const lower = encoded.map((form) => form.replace(/%../g, (byte) => byte.toLowerCase()));
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), ...encoded, ...lower])];
}
