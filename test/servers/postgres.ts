import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import pg from "pg";
import { program } from "./binaries.ts";
import { asNobody, freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";

/** A private Postgres with `changes` to its settings. It syncs to the disk: without, a store is not durable and says so. */
export async function privatePostgres(changes: Record<string, string> = {}): Promise<TestServer> {
  const { path, way } = program("initdb", "postgresql", ", or start Docker");
  const folder = await serverFolder("postgres");
  const data = join(folder, "data");
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  execFileSync(path, ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    ...asNobody(),
  });
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "128MB",
    max_wal_size: "1GB",
    ...changes,
  };
  return keepServer(way, folder, {
    command: join(dirname(path), "postgres"),
    args: ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
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
