import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DefaultTheme, defineConfig } from "vitepress";
import { apiRewrites, apiSidebar } from "../api.ts";
import { core, drawDiagrams, githubSlug, repository, repositoryPages } from "../markdown.ts";
import { type Page, pages, root, sections } from "../pages.ts";
import { searchOptions } from "../search.ts";

/** An envelope that is sealed. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="2" y="6" width="28" height="20" rx="4" fill="#2457d6"/><path d="m6 11 10 7 10-7" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/></svg>';
const urlOf = (url: string) => `/${url}`;

function sidebarItem({ file, url, title, showsHeadings }: Page): DefaultTheme.SidebarItem {
  const item = { text: title, link: urlOf(url) };
  if (!showsHeadings) return item;
  const headings = readFileSync(join(root, file), "utf8").matchAll(/^## (.+)$/gm);
  const items = Array.from(headings, ([, text = ""]) => ({
    text,
    link: `${urlOf(url)}#${githubSlug(text)}`,
  }));
  return { ...item, collapsed: true, items };
}

export default defineConfig({
  title: "esim-webhooks",
  description:
    "Receive the webhooks of the eSIM partner API: no authentic event lost, no delivery taking effect twice.",
  lang: "en",
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: "..",
  srcExclude: ["!(site|docs|packages|bench)/**", "site/node_modules/**", "packages/core/skills/**"],
  rewrites: {
    "site/index.md": "index.md",
    ...apiRewrites(),
    "site/api/:path*": "api/:path*",
    ...Object.fromEntries(pages.map(({ file, url }) => [file, `${url.replace(/\/$/, "/index")}.md`])),
  },
  cleanUrls: true,
  vite: {
    publicDir: join(import.meta.dirname, "../public"),
    build: { chunkSizeWarningLimit: 4000 }, // the index of the search, and Mermaid, are loaded when they are used
    esbuild: { tsconfigRaw: "{}" }, // the repository's own is for a newer compiler
  },
  markdown: {
    anchor: { slugify: githubSlug },
    config(md) {
      repositoryPages(md, repository);
      drawDiagrams(md);
    },
  },
  transformPageData({ filePath, frontmatter }) {
    const page = pages.find(({ file }) => file === filePath);
    if (page === undefined) return;
    frontmatter["description"] = page.lead;
    return { description: `How to ${page.lead}` };
  },
  themeConfig: {
    search: { provider: "local", options: { miniSearch: { searchOptions } } },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start" },
      { text: "Troubleshooting", link: "/troubleshooting" },
      { text: "Events", link: "/events" },
      { text: "API", link: "/api/" },
      { text: "Runbook", link: "/recover/" },
      { text: core.version, link: `${repository}/blob/main/CHANGELOG.md` },
    ],
    sidebar: {
      "/api/": apiSidebar(),
      "/": [
        ...sections.map(({ title, pages: own }) => ({
          text: title,
          collapsed: title !== "Guide",
          items: own.map(sidebarItem),
        })),
        { text: "API", items: [{ text: "Every function and type", link: "/api/" }] },
      ],
    },
    socialLinks: [{ icon: "github", link: repository }],
    docFooter: { prev: "Before", next: "Next" },
  },
});
