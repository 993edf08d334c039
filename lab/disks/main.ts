import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryFolder } from "../../test/memory-folder.ts";
import { layerEnvironment } from "./layer.ts";

/**
 * Runs each writer on a disk that fails and loses power at each of its calls. Resolves to whether each kept its promises.
 * @param given as `program.ts` says
 */
export async function runDisks(...given: readonly string[]): Promise<boolean> {
  const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), "esim-webhooks-disks-"));
  try {
    const args = ["--conditions=@esim-webhooks/source", join(import.meta.dirname, "program.ts"), ...given];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...layerEnvironment(folder) },
      stdio: "inherit",
    });
    const [code] = await once(child, "exit");
    return code === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
