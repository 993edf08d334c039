import { Redis } from "ioredis";
import pg from "pg";
import {
  privatePostgres,
  privateRedis,
  privateReplica,
  privateStandby,
  startProxy,
  type TestServer,
} from "../servers/index.ts";

/** A primary and its replica, behind an address that leads to the primary. A failover leaves the open connections where they are. */
export interface FailoverPair {
  /** The address. */
  readonly url: string;
  /** How many connections have been opened through the address. */
  connections(): number;
  /** A planned failover, step 1: the primary only reads from now on, and the replica has all of its writes. */
  demote(): Promise<void>;
  /** An unplanned failover, step 1: the replica becomes a primary, and the old one still writes, as while it is cut off. */
  promote(): Promise<void>;
  /** Step 2 of both: the new one is the only primary, and the address leads to it. */
  lead(): Promise<void>;
  /** Step 2 of an unplanned failover whose old primary dies, with its connections. Redis' comes back as the replica of the new one. */
  takeOver(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a pair. `isSynchronous`: the primary acknowledges a write of Postgres only once the replica has it. */
export type StartPair = (options?: { readonly isSynchronous?: boolean }) => Promise<FailoverPair>;

export const redisPair: StartPair = async () => {
  const primary = await privateRedis("--repl-diskless-sync", "no", "--repl-diskless-sync-delay", "0");
  const replica = await privateReplica(primary);
  const [old, fresh] = [primary, replica].map(({ url }) => new Redis(url).on("error", () => {})) as [
    Redis,
    Redis,
  ];
  const { hostname, port } = new URL(replica.url);
  const role = async (of: Redis) => (await of.role())[0];
  const until = async (of: Redis, wanted: string) => {
    while ((await role(of)) !== wanted) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  return behindProxy([primary, replica], {
    async demote() {
      await old.call("FAILOVER", "TO", hostname, port, "TIMEOUT", "60000");
      await until(old, "slave");
    },
    promote: async () => void (await fresh.replicaof("NO", "ONE")),
    async lead() {
      if ((await role(old)) === "master") await old.replicaof(hostname, Number(port));
      await until(fresh, "master");
    },
    async rejoin() {
      await primary.start();
      await old.replicaof(hostname, Number(port));
    },
    async close() {
      for (const client of [old, fresh]) client.disconnect();
    },
  });
};

export const postgresPair: StartPair = async ({ isSynchronous = false } = {}) => {
  const primary = await privatePostgres();
  const standby = await privateStandby(primary, "standby");
  const [old, fresh] = [primary, standby].map(({ url }) => new pg.Client({ connectionString: url }));
  if (old === undefined || fresh === undefined) throw new Error("two servers have two clients");
  for (const client of [old, fresh]) await client.on("error", () => {}).connect();
  const set = async (name: string, value: string) => {
    await old.query(`alter system set ${name} = '${value}'`);
    await old.query("select pg_reload_conf()");
    while ((await old.query(`show ${name}`)).rows[0][name] !== value);
  };
  const promote = async () => void (await fresh.query("select pg_promote()"));
  const untilReplayed = async () => {
    const { rows } = await old.query("select pg_current_wal_lsn() as lsn");
    const behind = "select pg_last_wal_replay_lsn() < $1::pg_lsn as behind";
    while ((await fresh.query(behind, [rows[0].lsn])).rows[0].behind);
  };
  /** Ends transactions that have begun, as a real demotion does: none may be acknowledged after it. */
  const endTransactions = () =>
    old.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where backend_xid is not null");
  if (isSynchronous) await set("synchronous_standby_names", "standby");
  /** A real demotion restarts the server, and so cuts its connections. This one answers 25006 on them, as a standby does. */
  const onlyRead = () => set("default_transaction_read_only", "on");
  return behindProxy([primary, standby], {
    async demote() {
      await onlyRead();
      await untilReplayed();
    },
    async promote() {
      await untilReplayed();
      await promote();
    },
    async lead() {
      await onlyRead();
      await endTransactions();
      if (!(await fresh.query("select pg_is_in_recovery() as standby")).rows[0].standby) return;
      await untilReplayed();
      await promote();
    },
    close: () => Promise.all([old.end(), fresh.end()]),
  });
};

async function behindProxy(
  servers: readonly [primary: TestServer, replica: TestServer],
  steps: Pick<FailoverPair, "demote" | "promote" | "lead"> & {
    rejoin?(): Promise<void>;
    close(): Promise<unknown>;
  },
): Promise<FailoverPair> {
  let connections = 0;
  const proxy = await startProxy(servers[0], {
    opened() {
      connections += 1;
      return "pass";
    },
  });
  return {
    url: proxy.url,
    connections: () => connections,
    demote: steps.demote,
    promote: steps.promote,
    async lead() {
      await steps.lead();
      proxy.lead(servers[1]);
    },
    async takeOver() {
      await servers[0].kill();
      proxy.lead(servers[1]);
      await steps.rejoin?.();
    },
    async close() {
      await steps.close();
      await proxy.close();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}
