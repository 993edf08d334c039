import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import pg from "pg";
import { program } from "./binaries.ts";
import { asNobody, freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";

const newFiles = "ESIM_WEBHOOKS_TEST_POSTGRES_FILES";

/** A private Postgres with `changes` to its settings. It syncs to the disk: without, a store is not durable and says so. */
export async function privatePostgres(changes: Record<string, string> = {}): Promise<TestServer> {
  return startIn(await serverFolder("postgres"), changes);
}

/** The same, run by a program such as `env` with these arguments, which the command of the server follows. */
export async function privatePostgresBy(runner: readonly string[]): Promise<TestServer> {
  return startIn(await serverFolder("postgres"), {}, makeFiles, runner);
}

/**
 * The private Postgres that all tests share. It keeps the files of a new server, which those that are started later, also in child
 * processes, copy: `initdb` would take ten times the CPU.
 */
export async function sharedPostgres(): Promise<TestServer> {
  const folder = await serverFolder("postgres");
  const files = join(folder, "new");
  makeFiles(files);
  process.env[newFiles] = files;
  return startIn(folder, {});
}

function makeFiles(data: string): void {
  const made = process.env[newFiles];
  if (made === undefined) makeNewFiles(data);
  else runAsNobody("cp", ["-Rp", made, data], dirname(data));
}

/** Creates the files of a new Postgres by `initdb`, with these further arguments. */
export function makeNewFiles(data: string, ...args: readonly string[]): void {
  const all = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", ...args];
  runAsNobody(initdb().path, all, dirname(data));
}

function runAsNobody(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"], ...asNobody() });
}

const initdb = () => program("initdb", "postgresql", ", or start Docker");

/** A private Postgres on files that are there, and that stay after it is closed. */
export async function postgresOn(data: string, changes: Record<string, string>): Promise<TestServer> {
  return startIn(await serverFolder("postgres"), changes, () => {}, [], data);
}

/** A standby of a private Postgres, which replicates to it under this name. */
export async function privateStandby(primary: TestServer, name: string): Promise<TestServer> {
  const copy = (data: string) => {
    const from = `${primary.url}?application_name=${name}`;
    const args = ["-d", from, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"];
    runAsNobody(join(dirname(realpathSync(initdb().path)), "pg_basebackup"), args, dirname(data));
  };
  return startIn(await serverFolder("postgres"), {}, copy);
}

async function startIn(
  folder: string,
  changes: Record<string, string>,
  make: (data: string) => void = makeFiles,
  runner: readonly string[] = [],
  data = join(folder, "data"),
): Promise<TestServer> {
  const { path, way } = initdb();
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  make(data);
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "128MB",
    max_wal_size: "1GB",
    ...changes,
  };
  const [command = "", ...before] = [...runner, join(dirname(path), "postgres")];
  return keepServer(way, folder, {
    command,
    args: [
      ...before,
      "-D",
      data,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    url,
    stopSignal: "SIGINT", // without waiting for clients
    probe: () => probePostgres(url),
  });
}

export async function probePostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on("error", () => {});
  await client.connect();
  await client.end();
}
