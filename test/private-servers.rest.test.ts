import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { runNode } from "./run.ts";
import { program } from "./servers/binaries.ts";
import { chromiumPath } from "./servers/chromium.ts";
import setup from "./servers/global-setup.ts";

afterEach(() => vi.unstubAllEnvs());

describe("private servers", () => {
  it("leave no process, folder or shared memory behind when the tests are killed", async () => {
    const code = `
      import { privatePostgres } from "./test/servers/postgres.ts";
      import { privateRedis } from "./test/servers/redis.ts";
      const [redis, postgres] = await Promise.all([privateRedis(), privatePostgres()]);
      console.log(redis.url, postgres.url);`;
    const { child, line, ended } = runNode(["--input-type=module-typescript", "-e", code]);
    onTestFinished(() => void child.kill("SIGKILL"));
    const [, redisUrl = "", postgresUrl = ""] = await line(/^(redis:\S+) (postgres:\S+)$/);
    const servers = [await aboutRedis(redisUrl), await aboutPostgres(postgresUrl)];
    const files = servers.flatMap(({ folder, pid }) => [folder, ...sharedMemoryOf(pid)]);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);

    child.kill("SIGKILL");
    await ended;
    const left = () => [
      ...files.filter((file) => existsSync(file)),
      ...servers.map(({ pid }) => pid).filter(isRunning),
    ];
    await expect.poll(left, { timeout: 120_000 }).toEqual([]);
  });

  it("are not started where REDIS_URL and DATABASE_URL name others", async () => {
    vi.stubEnv("REDIS_URL", "redis://redis.test:1");
    vi.stubEnv("DATABASE_URL", "postgres://postgres.test:2/db");
    const provided: Record<string, string> = {};
    const provide = (name: string, url: string) => Object.assign(provided, { [name]: url });
    const end = await setup({ provide, config: { env: {} } } as unknown as Parameters<typeof setup>[0]);
    await end();
    expect(provided).toEqual({
      redisUrl: "redis://redis.test:1",
      postgresUrl: "postgres://postgres.test:2/db",
    });
  });
});

describe("a program that is not there", () => {
  it("is an error that says what to install, and what else will do", () => {
    vi.stubEnv("PATH", ""); // no apt-get either
    expect(() => program("no-such-program", "some-server", ", or start Docker")).toThrow(
      "The tests need no-such-program. Install it (Debian: apt-get install some-server; " +
        "macOS: brew install some), or start Docker.",
    );
  });
});

describe("a Chromium that is too old, or that is not there", () => {
  it("is an error that says what to install", async () => {
    const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-chromium-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const old = join(folder, "chromium");
    await writeFile(old, "#!/bin/sh\necho Chromium 99.0.4844.84", { mode: 0o755 });
    vi.stubEnv("CHROMIUM_PATH", old);
    expect(chromiumPath).toThrow(/newer, and \S+ is "Chromium 99.*apt-get install chromium-headless-shell/);
    vi.stubEnv("CHROMIUM_PATH", join(folder, "missing"));
    expect(chromiumPath).toThrow(/newer, and \S+ is none.*apt-get install chromium-headless-shell/);
  });
});

interface About {
  readonly pid: number;
  readonly folder: string;
}

async function aboutRedis(url: string): Promise<About> {
  const client = new Redis(url);
  client.on("error", () => {});
  const [info, [, folder = ""]] = await Promise.all([
    client.info("server"),
    client.config("GET", "dir") as Promise<string[]>,
  ]);
  client.disconnect();
  return { pid: Number(/process_id:(\d+)/.exec(info)?.[1]), folder };
}

async function aboutPostgres(url: string): Promise<About> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("show data_directory");
  await client.end();
  const folder = (rows[0] as { data_directory: string }).data_directory;
  return { pid: Number(readFileSync(`${folder}/postmaster.pid`, "utf8").split("\n")[0]), folder };
}

/** The files that a process shares memory by. On Linux: elsewhere there is no telling. */
function sharedMemoryOf(pid: number): string[] {
  const maps = `/proc/${pid}/maps`;
  return existsSync(maps) ? [...new Set(readFileSync(maps, "utf8").match(/\/dev\/shm\/[\w.]+/g))] : [];
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
