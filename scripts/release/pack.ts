// npm run pack -- core express: packs these packages and those that they need into `packed`, and prints the commands that install them
// elsewhere. Without names, it packs all.
import { join } from "node:path";
import process from "node:process";
import { installLines } from "./install-lines.ts";
import { readManifests, withNeeded } from "./manifest.ts";
import { makeTarballs } from "./tarballs.ts";

const target = join(import.meta.dirname, "../../packed");
const manifests = readManifests();
const names = [...manifests.keys()].map((folder) => folder.slice("packages/".length));
const wanted = process.argv.slice(2).map((name) => name.replace("@esim-webhooks/", ""));
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no package ${unknown.join(", ")}. The packages are: ${names.join(", ")}.`);
  process.exit(1);
}
const packed = withNeeded(
  manifests,
  (wanted.length > 0 ? wanted : names).map((name) => `packages/${name}`),
);
await makeTarballs(packed, target, (step) => console.error(`${step} …`));
console.log(
  `Packed ${packed.size} packages. In the folder of your project, where its package.json is, run one of these commands:`,
);
for (const [manager, line] of installLines([...packed.values()], target))
  console.log(`\nwith ${manager}:\n${line}`);
