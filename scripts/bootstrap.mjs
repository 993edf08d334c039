// Installs the dependencies when they are missing or older than the lock file, so that `npm test` and `npm run demo`
// work as the first command in a fresh clone. Runs on the host's own Node.js, 22.18 or newer.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "node_modules", ".installed-lock");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

const lock = join(root, ".installing"); // holds the id of the process that installs
const pollMs = 100;

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;

/** Whether this process may install: one at a time, as two would spoil each other's node_modules. */
function takesLock() {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (!isRunning(lockOwner())) rmSync(lock, { force: true });
    return false;
  }
}

function lockOwner() {
  try {
    return Number(readFileSync(lock, "utf8")) || process.pid; // without an id it is being written
  } catch {
    return process.pid; // it has just been released
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function install() {
  process.stderr.write("Installing dependencies (once) …\n");
  const npm = process.env["npm_execpath"];
  const [command, first] = npm ? [process.execPath, [npm]] : ["npm", []];
  const args = [...first, "ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) {
    process.stderr.write(
      `${stdout ?? ""}${stderr ?? ""}\nThe dependencies could not be installed. npm's message above says why.\n`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}

while (!isInstalled()) {
  if (!takesLock()) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
    continue;
  }
  process.on("exit", () => rmSync(lock, { force: true }));
  if (!isInstalled()) install();
}
