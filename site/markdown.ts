import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import type MarkdownIt from "markdown-it";
import { apiUrl } from "./api.ts";
import { type Page, pages, root } from "./pages.ts";

/** The manifest of the core package, whose version all packages have. */
export const core: { readonly version: string; readonly repository: { readonly url: string } } = JSON.parse(
  readFileSync(join(root, "packages/core/package.json"), "utf8"),
);

/** The repository's URL. */
export const repository: string = core.repository.url.replace(/^git\+|\.git$/g, "");

const pageOf: ReadonlyMap<string, Page> = new Map(pages.map((page) => [page.file, page]));

/** Where the site shows what a file of the repository links to: a page of the site, or else the file in the repository's host. */
export function siteLink(fromFile: string, href: string, repository: string): string {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const [path = "", hash] = href.split("#", 2);
  const file = posix.normalize(posix.join(posix.dirname(fromFile), path)).replace(/\/$/, "");
  const anchor = hash === undefined ? "" : `#${hash}`;
  const page = pageOf.get(file);
  if (page !== undefined) return `/${page.url}${anchor}`;
  if (file === "README.md" && hash === undefined) return "/";
  if (file.startsWith("packages/core/events/")) return `/schemas/${posix.basename(file)}`;
  if (file.startsWith("site/api/"))
    return `${apiUrl(file.slice("site/api/".length).replace(/\.md$/, ""))}${anchor}`;
  return `${repository}/blob/main/${file}${anchor}`;
}

/** Lets pages keep the links that they have in the repository, and begin with what the reader can do with them. */
export function repositoryPages(md: MarkdownIt, repository: string): void {
  md.core.ruler.push("repository-pages", ({ tokens, env, Token }) => {
    const file = posix.relative(
      root,
      String(env.realPath ?? env.path ?? join(root, String(env.relativePath))),
    );
    const page = pageOf.get(file);
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const href = token.attrGet("href");
        if (token.type === "link_open" && href !== null)
          token.attrSet("href", siteLink(file, href, repository));
      }
    }
    if (page === undefined) return;
    const end = tokens.findIndex(({ type, tag }) => type === "heading_close" && tag === "h1");
    const lead = new Token("html_block", "", 0);
    lead.content = `<p class="lead">With this page, you can ${md.utils.escapeHtml(page.lead)}</p>\n`;
    tokens.splice(end + 1, 0, lead);
  });
}

/** The anchor that a heading has in the repository's host, so that the same links work in both. */
export function githubSlug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Shows a fence of `mermaid` as a drawing, which the reader's browser makes. */
export function drawDiagrams(md: MarkdownIt): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index] as (typeof tokens)[number];
    if (info.trim() !== "mermaid") return fence?.(tokens, index, ...rest) ?? "";
    return `<MermaidDiagram source="${encodeURIComponent(content)}" />\n`;
  };
}
