/** The host and the path of a URL, for messages: its user, its password and its query may be secret. */
export function shownAddress(url: string): string {
  const { host, pathname } = URL.parse(url) ?? { host: "an unreadable URL", pathname: "" };
  return `${host}${pathname}`;
}
