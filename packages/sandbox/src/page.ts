import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { Hono } from "hono";

/** The page's files, published as they are. The path is the same from src and from dist. */
const folder = new URL("../page/", import.meta.url);

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** Lets the page run only its own files, and call only its own server, even if an event contains markup. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:", // the empty icon
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'", // text that becomes markup is an error
].join("; ");

/** Returns an app that serves the page at `/`, and the page's files next to it. */
export function createPage(): Hono {
  const page = new Hono();
  for (const name of readdirSync(folder)) {
    const contentType = contentTypes[extname(name)];
    if (contentType === undefined) continue;
    const text = readFileSync(new URL(name, folder), "utf8");
    page.get(name === "index.html" ? "/" : `/${name}`, (context) =>
      context.body(text, 200, {
        "content-type": contentType,
        "content-security-policy": contentSecurityPolicy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache", // the next version may be served at the same address
      }),
    );
  }
  return page;
}
