import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./read-types.ts";

const bundled = ["preact", "@preact/signals", "@preact/signals-core", "uplot"];

/** The files of packages/dashboard/assets by their names: what the dashboard's page loads, and the licences of what is in it. */
export async function dashboardAssets(): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: "packages/dashboard/page/main.tsx", out: "dashboard" },
      { in: "packages/dashboard/page/dashboard.css", out: "dashboard" },
    ],
    outdir: "packages/dashboard/assets",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    write: false,
  });
  const built = outputFiles.map(({ path, text }): [string, string] => [
    path.slice(path.lastIndexOf("/") + 1),
    text,
  ]);
  const licences = bundled.map((name) => {
    const read = (file: string) => readFileSync(join(root, "node_modules", name, file), "utf8");
    return `${name} ${JSON.parse(read("package.json")).version}\n\n${read("LICENSE").trim()}\n`;
  });
  return new Map([...built, ["licences.txt", licences.join("\n\n")]]);
}
