import { spawnSync } from "node:child_process";
import { accessSync, constants, globSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Finds a program on the PATH or in the usual folders of servers. */
export function find(name: string): string | undefined {
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter).filter(Boolean),
    "/usr/sbin",
    ...globSync("/usr/lib/postgresql/*/bin"),
    ...globSync("/opt/homebrew/opt/postgresql*/bin"),
    ...globSync("/usr/local/opt/postgresql*/bin"),
  ];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether programs can be installed: as root on Debian. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && find("apt-get") !== undefined;
}

/** The installed program; else, as root on Debian, installs it with apt-get; else throws an error that says what to install. */
export function program(
  name: string,
  debianPackage: string,
  otherwise: string,
): { path: string; way: string } {
  const installed = find(name);
  if (installed !== undefined) return { path: installed, way: `a private ${installed}` };
  if (canInstall()) {
    installWithApt(debianPackage);
    const fresh = find(name);
    if (fresh !== undefined) return { path: fresh, way: `a private ${fresh}, just installed with apt-get` };
  }
  throw new Error(
    `The tests need ${name}. Install it (Debian: apt-get install ${debianPackage}; macOS: brew install ` +
      `${debianPackage.replace(/-server|-headless-shell/, "")})${otherwise}.`,
  );
}

let listsAreFresh = false;

/** Waits for other processes that install with apt-get, which would refuse it. */
export function installWithApt(debianPackage: string): void {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = ["/tmp/esim-webhooks-apt.lock", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"];
  process.stderr.write(`Installing ${debianPackage} with apt-get (once) …\n`);
  if (!listsAreFresh) spawnSync("flock", [...apt, "update"], { env, stdio: "ignore" });
  listsAreFresh = true;
  // if it fails, `program` throws an error that says what to install
  spawnSync("flock", [...apt, "install", "-y", "--no-install-recommends", debianPackage], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
}
