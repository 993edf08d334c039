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
  const { default: program } = createRequire(join(installed("test/workerd"), "_"))("workerd") as {
    default: string;
  };
  const folder = await serverFolder("workerd");
  const port = await freePort();
  await copyFile(program, join(folder, "workerd")); // its user may not read the repository
  await writeFile(join(folder, "worker.js"), script);
  await writeFile(join(folder, "config.capnp"), config(port));
  await mkdir(join(folder, "objects"));
  const { uid, gid } = asNobody();
  if (uid !== undefined && gid !== undefined) await chown(join(folder, "objects"), uid, gid);
  const url = `http://127.0.0.1:${port}`;
  return keepServer(`workerd of ${program}`, folder, {
    command: join(folder, "workerd"),
    args: ["serve", join(folder, "config.capnp")],
    url,
    stopSignal: "SIGTERM",
    probe: async () => void (await (await fetch(url)).arrayBuffer()),
  });
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
