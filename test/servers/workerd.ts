import { chown, copyFile, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { installed } from "../installed.ts";
import { root } from "../run.ts";
import { asNobody, freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";

/** Bundles a Worker on the sources, as `wrangler` does. */
export async function bundleWorker(entry: string, plugins: Plugin[] = []): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    conditions: ["@esim-webhooks/source", "workerd"],
    external: ["cloudflare:*"],
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
    plugins,
  });
  return outputFiles[0]?.text ?? "";
}

/**
 * Starts workerd, the runtime of Cloudflare Workers, with one Worker. Its Durable Objects of the class `DedupeObject`, bound as `DEDUPE`,
 * survive a SIGKILL.
 */
export async function startWorkerd(script: string): Promise<TestServer> {
  const folder = await serverFolder("workerd");
  const { command, args, url } = await layOut(folder, script);
  const { uid, gid } = asNobody();
  if (uid !== undefined && gid !== undefined) await chown(join(folder, "objects"), uid, gid);
  return keepServer(`workerd of ${workerd()}`, folder, {
    command,
    args,
    url,
    stopSignal: "SIGTERM",
    probe: async () => void (await (await fetch(url)).arrayBuffer()),
  });
}

/** Writes the files of such a workerd into a folder. Returns how to start it. */
export async function layOut(
  folder: string,
  script: string,
): Promise<{ readonly command: string; readonly args: readonly string[]; readonly url: string }> {
  const port = await freePort();
  await copyFile(workerd(), join(folder, "workerd")); // its user may not read the repository
  await writeFile(join(folder, "worker.js"), script);
  await writeFile(join(folder, "config.capnp"), config(port));
  await mkdir(join(folder, "objects"));
  const args = ["serve", join(folder, "config.capnp")];
  return { command: join(folder, "workerd"), args, url: `http://127.0.0.1:${port}` };
}

/** The program of the package. */
function workerd(): string {
  const require = createRequire(join(installed("test/workerd"), "_"));
  return (require("workerd") as { readonly default: string }).default;
}

function config(port: number): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "internet", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["nodejs_compat"],
  durableObjectNamespaces = [(className = "DedupeObject", uniqueKey = "dedupe", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [(name = "DEDUPE", durableObjectNamespace = "DedupeObject")],
);
`;
}
