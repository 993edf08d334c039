import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { expect } from "vitest";

/** Makes the snapshots of a private server fail, for which it refuses writes (MISCONF), or work again. */
export async function breakSnapshots(admin: Redis, isBroken: boolean): Promise<void> {
  const field = async (name: string) =>
    new RegExp(`rdb_${name}:(\\w+)`).exec(await admin.info("persistence"))?.[1];
  const isSaving = () => field("bgsave_in_progress");
  const [, folder = ""] = (await admin.config("GET", "dir")) as string[];
  const file = join(folder, "dump.rdb");
  await expect.poll(isSaving).toBe("0"); // else it may write the file between the next two steps
  await rm(file, { recursive: true, force: true });
  if (isBroken) await mkdir(join(file, "full"), { recursive: true }); // no file can replace a folder that is not empty
  await admin.config("SET", "save", isBroken ? "3600 1000000" : "");
  await admin.bgsave("SCHEDULE");
  await expect.poll(isSaving).toBe("0");
  await expect.poll(() => field("last_bgsave_status")).toBe(isBroken ? "err" : "ok");
}
