import { spawnSync } from "node:child_process";

/** Mounts a disk of this size, or makes the one that is there so large. Returns why it cannot. */
export function mountDisk(folder: string, size: string, options = "size"): string | undefined {
  const args = ["-t", "tmpfs", "-o", `${options}=${size}`, "tmpfs", folder];
  const { status, stderr, error } = spawnSync("mount", args, { encoding: "utf8" });
  return status === 0 ? undefined : `a small disk cannot be mounted here: ${error?.message ?? stderr.trim()}`;
}

export function unmountDisk(folder: string): void {
  spawnSync("umount", ["-l", folder]);
}
