// npm run site: builds the site into site/.vitepress/dist. With --preview, serves it then.
import { build, serve } from "vitepress";
import { writeApi } from "./api.ts";
import { checkLinks } from "./check-links.ts";

await writeApi();
await build(import.meta.dirname);
checkLinks();
if (process.argv.includes("--preview")) await serve({ root: import.meta.dirname, port: 4173 });
