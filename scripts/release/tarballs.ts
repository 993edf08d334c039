import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import type { Manifest } from "./manifest.ts";
import { packedReadme } from "./packed-readme.ts";

const root = join(import.meta.dirname, "../..");
const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The name of the file that `npm pack` makes of a package. */
export function tarballName({ name, version }: Manifest): string {
  return `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
}

/**
 * Builds packages from nothing and writes their tarballs to `target`. Works in a copy, which also goes when the process is stopped: the
 * working tree stays as it is. Calls `onStep` with what begins.
 */
export async function makeTarballs(
  manifests: ReadonlyMap<string, Manifest>,
  target: string,
  onStep: (text: string) => void = () => {},
): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), "esim-webhooks-pack-"));
  let child: ChildProcess | undefined;
  let stoppedBy: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals) => {
    stoppedBy = signal;
    child?.kill(signal);
  };
  for (const signal of stopSignals) process.on(signal, stop);
  try {
    const folders = [...manifests.keys()];
    onStep("Copying the sources");
    copySources(copy);
    onStep(`Building ${folders.map((folder) => basename(folder)).join(", ")}`);
    await run(join(root, "node_modules/.bin/tsc"), "-b", ...folders);
    onStep("Packing them");
    const made = join(copy, "tarballs");
    mkdirSync(made);
    await run("npm", "pack", "--silent", "--pack-destination", made, ...folders.map((it) => `./${it}`));
    cpSync(made, target, { recursive: true });
  } finally {
    rmSync(copy, { recursive: true, force: true });
    for (const signal of stopSignals) process.off(signal, stop);
    if (stoppedBy !== undefined) process.kill(process.pid, stoppedBy);
  }

  async function run(command: string, ...args: readonly string[]): Promise<void> {
    if (stoppedBy !== undefined) throw new Error(`Stopped by ${stoppedBy}.`);
    child = spawn(command, args, { cwd: copy, stdio: ["ignore", "ignore", "inherit"] });
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}. Its message is above.`);
  }
}

/** Copies what packages are built from. Their imports of each other lead to the copy, all others to what is installed here. */
function copySources(copy: string): void {
  for (const file of ["package.json", "tsconfig.base.json"]) cpSync(join(root, file), join(copy, file));
  const isLeftOut = /^(?:node_modules|dist|test|.*\.tsbuildinfo)$/;
  cpSync(join(root, "packages"), join(copy, "packages"), {
    recursive: true,
    filter: (path) => !isLeftOut.test(basename(path)),
  });
  const folders = readdirSync(join(copy, "packages")).map((name) => join("packages", name));
  for (const folder of ["", ...folders]) linkModules(folder);
  mkdirSync(join(copy, "node_modules/@esim-webhooks"));
  for (const folder of folders) {
    symlinkSync(join(copy, folder), join(copy, "node_modules/@esim-webhooks", basename(folder)));
    const readme = join(copy, folder, "README.md");
    writeFileSync(readme, packedReadme(readFileSync(readme, "utf8"), folder));
  }

  function linkModules(folder: string): void {
    const from = join(root, folder, "node_modules");
    if (!existsSync(from)) return;
    const to = join(copy, folder, "node_modules");
    mkdirSync(to);
    for (const name of readdirSync(from))
      if (name !== "@esim-webhooks") symlinkSync(join(from, name), join(to, name));
  }
}
