// npm run site: builds the site into site/.vitepress/dist. With --preview, serves it then.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, serve } from "vitepress";
import { llmsFullText, llmsText } from "../scripts/docs/llms.ts";
import { writeApi } from "./api.ts";
import { checkDocs } from "./check-docs.ts";
import { checkLinks } from "./check-links.ts";

await writeApi();
checkDocs();
await build(import.meta.dirname);
const dist = join(import.meta.dirname, ".vitepress/dist");
for (const [name, text] of Object.entries({ "llms.txt": llmsText(), "llms-full.txt": llmsFullText() }))
  writeFileSync(join(dist, name), text);
checkLinks();
if (process.argv.includes("--preview")) await serve({ root: import.meta.dirname, port: 4173 });
