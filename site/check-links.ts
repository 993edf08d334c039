import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const built = join(import.meta.dirname, ".vitepress/dist");

/** Throws if a link of a built page leads to no page, or to no heading of its page. VitePress itself does not look at headings. */
export function checkLinks(dist: string = built): void {
  const html = new Map<string, string>(
    globSync("**/*.html", { cwd: dist }).map((file) => [urlOf(file), readFileSync(join(dist, file), "utf8")]),
  );
  const idsOf = new Map([...html].map(([url, text]) => [url, idsIn(text)]));
  const broken = [...html].flatMap(([url, text]) =>
    linksIn(text).flatMap((href) => {
      const [path = "", hash] = href.split("#", 2);
      const target = path === "" ? url : path;
      const ids = idsOf.get(target);
      if (ids === undefined) return existsSync(join(dist, target)) ? [] : [`${url}: ${href} is no page`];
      return hash === undefined || hash === "" || ids.has(decodeURIComponent(hash))
        ? []
        : [`${url}: ${href} is no heading`];
    }),
  );
  if (broken.length > 0)
    throw new Error(`${broken.length} links are broken:\n${[...new Set(broken)].join("\n")}`);
}

function urlOf(file: string): string {
  return `/${file.replace(/(^|(?<=\/))index\.html$/, "").replace(/\.html$/, "")}`;
}

function linksIn(html: string): string[] {
  return [...html.matchAll(/<a [^>]*href="([^"]*)"/g)]
    .map(([, href = ""]) => href.replaceAll("&amp;", "&"))
    .filter((href) => href.startsWith("/") || href.startsWith("#"));
}

function idsIn(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id));
}
