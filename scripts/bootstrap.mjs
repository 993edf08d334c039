// Installs the dependencies when they are missing or older than the lock file, so that `npm test` and `npm run demo`
// work as the first command in a fresh clone. Runs on the host's own Node.js, 20 or newer.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "node_modules", ".installed-lock");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
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
