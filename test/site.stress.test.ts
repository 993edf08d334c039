import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pages } from "../site/pages.ts";
import { installed } from "./installed.ts";
import { root, runCommand } from "./run.ts";

it("the site is built from the pages of the repository: every link leads to a page and a heading, each page begins with what it is for, and the API reference has every import path", async () => {
  installed("site");
  const { code, output } = await runCommand(process.execPath, ["site/main.ts"]).ended;
  expect(code, output).toBe(0);

  const dist = join(root, "site/.vitepress/dist");
  const read = (url: string) => readFileSync(join(dist, `${url.replace(/\/$/, "/index")}.html`), "utf8");
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
