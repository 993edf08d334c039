import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryFolder } from "../../test/memory-folder.ts";
import { mountDisk, withoutDisk } from "./fuse.ts";
import { layerEnvironment } from "./layer.ts";

/**
 * Runs each writer on a disk that fails and loses power at each of its calls. Resolves to whether each kept its promises.
 * @param given as `program.ts` says, without the layer. Postgres runs if no writer or `postgres` is named
 */
export async function runDisks(...given: readonly string[]): Promise<boolean> {
  const [part] = given;
  const isKept =
    part === "postgres" || (await inFolder((folder) => run("files", layerEnvironment(folder), given)));
  if (part !== undefined && part !== "postgres") return isKept;
  return (await inFolder((folder) => runPostgres(folder, given))) && isKept;
}

async function runPostgres(folder: string, given: readonly string[]): Promise<boolean> {
  if (withoutDisk !== undefined) {
    console.log(`postgres: not run, since ${withoutDisk}`);
    return true;
  }
  const disk = await mountDisk(folder);
  try {
    return await run("postgres", disk.environment, given);
  } finally {
    await disk.unmount();
  }
}

async function inFolder(use: (folder: string) => Promise<boolean>): Promise<boolean> {
  const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), "esim-webhooks-disks-"));
  chmodSync(folder, 0o755); // servers of another user go through it
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(
  layer: string,
  environment: Readonly<Record<string, string>>,
  given: readonly string[],
): Promise<boolean> {
  const program = join(import.meta.dirname, "program.ts");
  const child = spawn(process.execPath, ["--conditions=@esim-webhooks/source", program, layer, ...given], {
    env: { ...process.env, ...environment },
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  return code === 0;
}
