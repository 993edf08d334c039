import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const ownScope = "@esim-webhooks";

/** A copy of the sources, which may be broken. Packages are linked to where they are installed; those of this project are the copies. */
export interface Copy {
  readonly folder: string;
  remove(): void;
}

export function copySources(): Copy {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-lab-"));
  const files = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const file of files.split("\0").filter((name) => name !== "" && existsSync(join(root, name))))
    cpSync(join(root, file), join(folder, file), { recursive: true });
  linkEntries(join(root, "node_modules"), join(folder, "node_modules"), [ownScope, ".cache", ".vite"]);
  for (const name of readdirSync(join(root, "packages"))) {
    linkIfThere(join(root, "packages", name, "node_modules"), join(folder, "packages", name, "node_modules"));
  }
  cpSync(join(root, "node_modules", ownScope), join(folder, "node_modules", ownScope), {
    recursive: true,
    verbatimSymlinks: true,
  });
  linkIfThere(join(root, "lab/mutation/node_modules"), join(folder, "lab/mutation/node_modules"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function linkEntries(from: string, to: string, except: readonly string[]): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from))
    if (!except.includes(name)) symlinkSync(join(from, name), join(to, name));
}

function linkIfThere(from: string, to: string): void {
  if (existsSync(from)) symlinkSync(from, to);
}
