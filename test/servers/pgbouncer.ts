import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { program } from "./binaries.ts";
import { freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";
import { probePostgres } from "./postgres.ts";

/** A transaction pooler in front of a Postgres, with at most `connections` connections to it. */
export async function privatePgBouncer(postgresUrl: string, connections: number): Promise<TestServer> {
  const { path, way } = program("pgbouncer", "pgbouncer", "");
  const folder = await serverFolder("pgbouncer");
  const port = await freePort();
  const { hostname, port: postgresPort, username, password } = new URL(postgresUrl);
  const config = join(folder, "pgbouncer.ini");
  await writeFile(join(folder, "users.txt"), `"${username}" "${password}"\n`, { mode: 0o644 });
  await writeFile(
    config,
    `[databases]
* = host=${hostname} port=${postgresPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 200
`,
    { mode: 0o644 },
  );
  const url = Object.assign(new URL(postgresUrl), { host: `127.0.0.1:${port}` }).href;
  return keepServer(way, folder, {
    command: path,
    args: [config],
    url,
    stopSignal: "SIGINT",
    probe: () => probePostgres(url),
  });
}
