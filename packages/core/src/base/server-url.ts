/**
 * Whether the text is a URL of a server with one of these protocols, such as `"redis:"`, and says without doubt where its
 * password ends. With an unencoded `/`, `?` or `#` in the password, a part of the password would pass for the host, and
 * messages name the host.
 */
export function isServerUrl(text: string, ...protocols: readonly string[]): boolean {
  const url = URL.parse(text.replace("@/", "@host/")); // Postgres: a user and no host mean a local socket
  if (url === null || !protocols.includes(url.protocol)) return false;
  return !`${url.pathname}${url.search}${url.hash}`.includes("@");
}
