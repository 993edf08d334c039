/** The address of each page and heading that has moved, and its new one. A page keeps the heading of an address that has none here. */
export const redirects: Readonly<Record<string, string>> = {
  "/handle/effects": "/handle/",
  "/handle/order": "/handle/",
  "/receive/capture": "/troubleshooting#a-signature-that-does-not-match",
  "/receive/#stop-a-process": "/deploy#stop-a-process",
  "/receive/#troubleshooting-by-code": "/troubleshooting",
  "/work/#three-machines": "/work/#two-servers-or-three-machines",
  "/test#with-vitest-and-with-contexttx": "/test#with-vitest-and-with-a-database",
  "/recover/#a-worker-lives-and-takes-nothing": "/recover/#events-wait",
  "/work/#before-you-use-postgres": "/work/postgres#the-server-and-how-long-it-may-take",
  "/work/#before-you-use-sqlite": "/work/sqlite#good-to-know",
  "/handle/client#in-a-terminal": "/operate/cli#the-partner-api",
  "/operate/observing#in-ten-minutes": "/operate/alerts#in-ten-minutes",
};

/** A page at an old address, which leads to the new one, and keeps the heading that was asked for. */
export function redirectPage(target: string): string {
  const [path = "", hash = ""] = target.split(/(?=#)/);
  return `<!doctype html><meta charset="utf-8"><title>Moved</title><meta http-equiv="refresh" content="1;url=${target}"><link rel="canonical" href="${path}"><script>location.replace("${path}" + (location.hash || "${hash}"))</script><a href="${target}">This page has moved.</a>\n`;
}
