// The prepack and postpack of every package: packs a README.md whose links work on a package page, and then puts the one of the
// working tree back. Runs in the package's folder.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, posix } from "node:path";
import process from "node:process";
import { pagesUrl } from "../packages/core/src/base/pages.ts";

/** A package's README with its links to files made absolute. While the pages have no URL, the name of the file takes the link's place. */
export function packedReadme(readme: string, name: string, url: string | undefined = pagesUrl): string {
  return readme.replaceAll(/\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)/g, (_, text: string, link: string) => {
    const page = posix.join("packages", name, link);
    if (url !== undefined) return `[${text}](${url}${page})`;
    const [file = ""] = page.split("#");
    return text === file ? `\`${file}\`` : `${text} (\`${file}\`)`;
  });
}

const readme = "README.md";
const kept = ".README.md.kept"; // not in `files`, so npm does not pack it

function restore(): void {
  if (existsSync(kept)) renameSync(kept, readme); // at prepack, if packing was interrupted before
}

if (import.meta.main) {
  restore();
  if (process.argv[2] === "write") {
    const text = readFileSync(readme, "utf8");
    writeFileSync(kept, text);
    writeFileSync(readme, packedReadme(text, basename(process.cwd())));
  }
}
