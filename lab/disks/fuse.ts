import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { installWithApt, program } from "../../test/servers/binaries.ts";
import { compile, recordEnvironment } from "./layer.ts";

/** Why no disk can be mounted here that a server of another user writes to; undefined if one can. */
export const withoutDisk: string | undefined =
  process.getuid?.() === 0 && existsSync("/dev/fuse")
    ? undefined
    : "this user cannot mount a disk. Run it as root on Linux, with /dev/fuse.";

/** A disk at `LAB_DISK_FOLDER` of its environment. */
export interface MountedDisk {
  readonly environment: Readonly<Record<string, string>>;
  unmount(): Promise<void>;
}

/** Mounts a disk of FUSE that records and fails calls, with all its files in this folder. */
export async function mountDisk(folder: string): Promise<MountedDisk> {
  program("fusermount3", "fuse3", "");
  if (!existsSync("/usr/include/fuse3/fuse.h")) installWithApt("libfuse3-dev");
  const backing = join(folder, "backing");
  const environment = { ...recordEnvironment(folder), LAB_DISK_BACKING: backing };
  const mountPoint = environment.LAB_DISK_FOLDER;
  for (const path of [mountPoint, backing]) mkdirSync(path);
  const flags = ["-D_FILE_OFFSET_BITS=64", "-I/usr/include/fuse3", "-lfuse3"];
  const command = compile("fuse-disk.c", join(folder, "fuse-disk"), ...flags);
  const disk = spawn(command, [backing, mountPoint], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(disk, "exit");
  const isMounted = await Promise.race([once(disk.stdout, "data").then(() => true), ended.then(() => false)]);
  if (!isMounted)
    throw new Error("lab/disks/fuse-disk.c could not mount its disk. Load the kernel module fuse.");
  return {
    environment,
    async unmount() {
      spawnSync("umount", ["--lazy", mountPoint], { stdio: "inherit" });
      disk.kill();
      await ended;
    },
  };
}
