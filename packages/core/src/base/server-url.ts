/**
 * Whether the text is a URL of a server with one of these protocols, such as `"redis:"`, and shows without doubt where its
 * password ends. With an unencoded `/`, `?` or `#` in the password, a part of the password would pass for the host, and
 * messages name the host.
 */
export function isServerUrl(text: string, ...protocols: readonly string[]): boolean {
  const url = URL.parse(text.replace("@/", "@host/")); // Postgres: a user and no host mean a local socket
  if (url === null || !protocols.includes(url.protocol)) return false;
  return !`${url.pathname}${url.search}${url.hash}`.includes("@");
}

/** The parts of a server's address; a part that is undefined, empty or 0 is left out. */
export interface ServerAddress {
  /** The name or address of the server, or the path of a local socket. */
  readonly host?: string | undefined;
  /** A TCP port. */
  readonly port?: number | undefined;
  /** The name of the database, or its number on Redis. */
  readonly database?: string | number | undefined;
}

/** Returns `host:port/database`, for messages. A URL that was given in place of a host is not repeated: it may contain a password. */
export function addressText({ host, port, database }: ServerAddress): string {
  const server = [host, port].filter(Boolean).join(":");
  const text = database ? `${server}/${database}` : server;
  return text.includes("@") || text.includes("://") ? "an address that is a URL" : text;
}
