import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";

const root = join(import.meta.dirname, "..");
const secret = newSecret();

/** The servers to start: the built command line as a user has it, or a bare server with better-sqlite3. */
export const servers = {
  ours: [join(root, "packages/cli/bin/esim-webhooks.js"), "serve", "--port", "0"],
  bare: [join(import.meta.dirname, "embedded-bare.mjs"), "events.db"],
} as const;

export function buildCli(): void {
  const build = [join(root, "node_modules/typescript/bin/tsc"), "-b", join(root, "packages/cli")];
  const { status, stdout } = spawnSync(process.execPath, build, { encoding: "utf8" });
  if (status !== 0) throw new Error(`The build of the command line failed: ${stdout}`);
}

/** Starts a server in a new folder. Returns how long it took until a delivery was answered 202, in ms. */
export async function firstAcknowledgedMs(args: readonly string[], folder: string): Promise<number> {
  const cwd = mkdtempSync(join(folder, "serve-"));
  const delivery = signedRequest({ type: "esim.enabled", data: sampleData("esim.enabled") }, { secret });
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ESIM_WEBHOOK_SECRET: secret },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const { status } = await fetch(await urlIn(child.stderr), delivery);
  const taken = performance.now() - startedAt;
  child.kill();
  await once(child, "exit");
  if (status !== 202) throw new Error(`${args.join(" ")} answered ${status}`);
  return taken;
}

async function urlIn(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stream)) {
    const [url] = /http:\S+/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error("The server ended before it listened.");
}
