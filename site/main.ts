// npm run site: builds the site into site/.vitepress/dist. With --preview, serves it then.
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, serve } from "vitepress";
import { everyMessage, readErrorCodes, readErrors } from "../scripts/docs/errors-page.ts";
import { llmsFullText, llmsText } from "../scripts/docs/llms.ts";
import { writeApi } from "./api.ts";
import { checkDocs } from "./check-docs.ts";
import { checkLinks } from "./check-links.ts";
import { repository, siteLink } from "./markdown.ts";
import { root } from "./pages.ts";
import { redirectPage, redirects } from "./redirects.ts";

await writeApi();
checkDocs();
writeFileSync(join(import.meta.dirname, "api/errors.md"), everyMessage(readErrors(), readErrorCodes()));
await build(import.meta.dirname);
const dist = join(import.meta.dirname, ".vitepress/dist");
const urlOf = (file: string) => siteLink("llms.txt", file, repository);
for (const [name, text] of Object.entries({ "llms.txt": llmsText(urlOf), "llms-full.txt": llmsFullText() }))
  writeFileSync(join(dist, name), text);
cpSync(join(root, "packages/core/events"), join(dist, "schemas"), { recursive: true });
for (const [from, to] of Object.entries(redirects))
  if (!from.includes("#")) writeFileSync(join(dist, `${from}.html`), redirectPage(to));
checkLinks();
if (process.argv.includes("--preview")) await serve({ root: import.meta.dirname, port: 4173 });
