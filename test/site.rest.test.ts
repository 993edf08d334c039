import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { checkDocs } from "../site/check-docs.ts";
import { checkLinks } from "../site/check-links.ts";
import { pages } from "../site/pages.ts";
import { redirects } from "../site/redirects.ts";
import { searchOptions } from "../site/search.ts";
import { installed } from "./installed.ts";
import { root, runCommand } from "./run.ts";
import { queries } from "./site-queries.ts";

const dist = join(root, "site/.vitepress/dist");
const read = (url: string) => readFileSync(join(dist, `${url.replace(/\/$/, "/index")}.html`), "utf8");

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

beforeAll(async () => {
  installed("site");
  const { code, output } = await runCommand(process.execPath, ["site/main.ts"]).ended;
  expect(code, output).toBe(0);
});

it("the site is built from the pages of the repository: every link leads to a page and a heading, each page begins with what it is for, and the API reference has every import path", () => {
  for (const { url, lead } of pages)
    expect(read(url), url).toContain(`<p class="lead">With this page, you can ${lead}</p>`);
  for (const file of globSync("packages/*/package.json", { cwd: root })) {
    const { name, exports } = JSON.parse(readFileSync(join(root, file), "utf8"));
    for (const path of Object.keys(exports).filter((it) => !it.includes("*"))) {
      const page = join("api", name, path);
      expect(read(page === `api/${name}` && Object.keys(exports).length > 1 ? `${page}/` : page)).toContain(
        "<h1",
      );
    }
  }
  expect(read("api/@esim-webhooks/express")).toContain("webhookRouter");
  expect(read("index")).toContain('<link rel="icon" href="data:image/svg+xml,');
  expect(read("handle/")).toContain('href="/packages/client"'); // in the sidebar
  for (const framework of ["nextjs", "sveltekit", "nuxt-nitro", "hono", "bun"])
    expect(read("handle/")).toContain(`href="/receive/frameworks#${framework}"`); // in the sidebar, too
  expect(read("receive/express")).toContain('<a href="/">the main page</a>');
  for (const page of ["api/", "api/@esim-webhooks/core/explain"])
    expect(read(page)).toContain("Says why a signature does not match.");
});

it("llms.txt leads to pages of the site, and the events page to the documents for tools", () => {
  const links = [...readFileSync(join(dist, "llms.txt"), "utf8").matchAll(/\]\((\/[^)#]*)/g)].map(
    ([, url = ""]) => url,
  );
  expect(links.length).toBeGreaterThan(45);
  for (const url of links) expect(read(url.slice(1) || "index"), url).toContain("<h1");
  expect(read("events")).toContain('href="/schemas/asyncapi.json"');
  expect(JSON.parse(readFileSync(join(dist, "schemas/asyncapi.json"), "utf8"))).toHaveProperty("asyncapi");
});

it("every page can be searched and read in the dark, and the landing page shows the demo's ledger and the dashboard", () => {
  for (const { url } of [{ url: "index" }, { url: "api/" }, ...pages]) {
    expect(read(url), url).toContain('class="VPNavBarSearch ');
    expect(read(url), url).toContain('class="VPSwitch VPSwitchAppearance"');
  }
  const [index = ""] = globSync("assets/chunks/@localSearchIndex*.js", { cwd: dist });
  expect(readFileSync(join(dist, index), "utf8")).toContain("migration_missing");
  const pictures = [...read("index").matchAll(/<img src="([^"]+)" alt="[^"]+"/g)].map(
    ([, source = ""]) => source,
  );
  expect(pictures).toEqual([
    expect.stringMatching(/^\/assets\/demo\..+\.svg$/),
    expect.stringMatching(/^\/assets\/now-light\..+\.png$/),
  ]);
  for (const picture of pictures) expect(readFileSync(join(dist, picture)).length).toBeGreaterThan(1000);
});

it("40 searches of customers each find first the page that answers them", async () => {
  const { default: MiniSearch } = await import(
    createRequire(join(root, "site/package.json")).resolve("minisearch")
  );
  const [file = ""] = globSync("assets/chunks/@localSearchIndexroot*.js", { cwd: dist });
  const { default: index } = await import(join(dist, file));
  const search = MiniSearch.loadJSON(index, { fields: ["title", "titles", "text"], searchOptions });
  const found = Object.keys(queries).map((query) => {
    const [first] = search.search(query) as { id: string }[];
    return [query, first?.id.split("#")[0]];
  });
  expect(found.length).toBeGreaterThanOrEqual(40);
  expect(Object.fromEntries(found)).toEqual(queries);
});

it("an address that has moved leads to its new one", () => {
  for (const [from, to] of Object.entries(redirects))
    if (!from.includes("#")) expect(read(from.slice(1)), from).toContain(`<a href="${to}">`);
});

it("the API reference leads to the error codes and the metrics, which are no declarations", () => {
  expect(read("api/")).toContain('<a href="/errors">Error codes</a>');
  expect(read("api/")).toContain('<a href="/operate/observing#metrics">Metrics</a>');
  expect(read("errors")).toContain('id="store_unavailable"');
  expect(read("api/")).toContain('<a href="/api/errors">every message</a>');
  expect(read("api/errors")).toContain("raise the option maxUnpackedBytes");
  expect(read("operate/observing")).toContain("esim_webhooks.inbox.wait");
});

it("the API reference has a sentence for every declaration, member, and field; one that loses it is named", () => {
  expect(() => checkDocs()).not.toThrow();

  const copy = temporaryFolder();
  cpSync(join(root, "site/api"), copy, { recursive: true });
  const without = (module: string, sentence: string, cell = "") => {
    const file = join(copy, `@esim-webhooks/${module}.md`);
    const page = readFileSync(file, "utf8");
    expect(page).toContain(sentence);
    writeFileSync(file, page.replace(sentence, cell));
  };
  without("core/explain", "A likely cause, with its evidence.");
  without("core/explain", "The kind of cause. Stable, for programs.", "-");
  without("core/explain", "the headers of the request", "-");
  without("core", "The id was done before, so nothing ran.");
  without(
    "core",
    "Passes one delivery through the pipeline. Resolves to the answer and the outcome, and never rejects.",
  );
  expect(() => checkDocs(copy)).toThrow(
    [
      "The API reference has no sentence for:",
      "@esim-webhooks/core: Receiver.receive()",
      '@esim-webhooks/core: EventOutcome = \\{ `code`: `"duplicate"`; \\}',
      "@esim-webhooks/core/explain: explainVerification() `delivery.headers`",
      "@esim-webhooks/core/explain: Finding",
      "@esim-webhooks/core/explain: Finding `code`",
    ].join("\n"),
  );
});

it("a link of the site to no page, or to no heading, is an error that names both", () => {
  const folder = temporaryFolder();
  const write = (file: string, html: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), html);
  };
  write(
    "index.html",
    '<h1 id="top"></h1><a href="#top"></a><a href="/receive/express#mount"></a><a href="/logo.svg"></a>',
  );
  write(
    "receive/express.html",
    '<h2 id="mount"></h2><a class="link" href="/"></a><a href="https://example.com/gone#x"></a>',
  );
  write("logo.svg", "<svg/>");
  expect(() => checkLinks(folder)).not.toThrow();

  write(
    "receive/index.html",
    '<a href="/receive/expres"></a><a href="/receive/express#mounts"></a><a href="#top"></a>',
  );
  expect(() => checkLinks(folder)).toThrow(
    [
      "3 links are broken:",
      "/receive/: /receive/expres is no page",
      "/receive/: /receive/express#mounts is no heading",
      "/receive/: #top is no heading",
    ].join("\n"),
  );
});
