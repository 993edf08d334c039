// A process of an upgrade: `process.ts <previous | present> <receiver | worker | migrator>`, on the STORE at PLACE, a URL or a file.
// FROZEN is the folder of the previous version.
// A receiver puts events of ten eSIMs, each after the one before it was acknowledged. A worker handles what it can take: one effect an
// event. Both end on SIGTERM; a receiver then prints what it has seen as JSON.
import { setTimeout as pause } from "node:timers/promises";
import type { EsimEvents, Handlers } from "@esim-webhooks/core";
import type { SqliteTransaction } from "@esim-webhooks/store-sqlite";
import type { Transaction } from "kysely";
import { entry } from "../inbox-entry.ts";
import { frozenPackages, presentPackages } from "./packages.ts";

/** An effect, and the lane in which it happened, and when. */
export interface Effects {
  effect: { event: string; lane: string; began: number; ended: number; version: string };
}

/** The deliveries that a receiver has seen. */
export interface Received {
  readonly acknowledged: number;
  readonly failed: number;
  /** The longest time in which each put failed, in ms. */
  readonly longestOutageMs: number;
  /** The longest time that a put took, in ms. */
  readonly longestPutMs: number;
}

const [version = "", role = ""] = process.argv.slice(2);
const { STORE: store = "", PLACE: place = "", FROZEN: frozen = "" } = process.env;
const lanes = 10;
const putEveryMs = 40;

const { createWorker, postgresInbox, sqliteInbox } =
  version === "previous" ? await frozenPackages(frozen) : presentPackages;

const print = (line: string) => console.log(line);
const say = (_: unknown, message: string) => print(message);
const logger = { debug: () => {}, info: say, warn: say, error: say };
const lane = ({ data }: { data: object }) => ("esimReference" in data ? String(data.esimReference) : null);
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const workerOptions = { concurrency: 20, pollMs: 50, backoff: () => 100, leaseMs: 3_600_000 }; // no worker is killed
const timeoutMs = 60_000; // a busy machine may need more than the default

const { inbox, migrate, worker } = store === "postgres" ? onPostgres() : onSqlite();

function onPostgres() {
  const inbox = postgresInbox<Effects>({ url: place, lane, logger });
  const handlers: Handlers<EsimEvents, Transaction<Effects>> = {
    "*": async ({ id }, { tx, attempt }) =>
      void (await tx
        .insertInto("effect")
        .values(await handle(id, attempt))
        .execute()),
  };
  return { inbox, migrate: inbox.migrate, worker: () => createWorker(inbox, handlers, workerOptions) };
}

function onSqlite() {
  const inbox = sqliteInbox({ path: place, lane, logger, timeoutMs });
  const handlers: Handlers<EsimEvents, SqliteTransaction> = {
    "*": async ({ id }, { tx, attempt }) => {
      const { event, lane, began, ended, version } = await handle(id, attempt);
      tx.write({
        sql: "insert into effect (event, lane, began, ended, version) values (?, ?, ?, ?, ?)",
        parameters: [event, lane, began, ended, version],
      });
    },
  };
  return { inbox, migrate: inbox.migrate, worker: () => createWorker(inbox, handlers, workerOptions) };
}

async function receive(): Promise<Received> {
  let [acknowledged, failed, longestOutageMs, longestPutMs] = [0, 0, 0, 0];
  let outageSince: number | undefined;
  async function acknowledge(id: string, esim: string): Promise<void> {
    const given = entry(id, { esim });
    for (;;) {
      const beganAt = performance.now();
      try {
        await inbox.put([given]);
        longestPutMs = Math.max(longestPutMs, performance.now() - beganAt);
        acknowledged += 1;
        outageSince = undefined;
        return;
      } catch (error) {
        print(`put failed: ${error} ${(error as Error).cause}`);
        failed += 1;
        outageSince ??= beganAt;
        longestOutageMs = Math.max(longestOutageMs, performance.now() - outageSince);
        await pause(100);
      }
    }
  }
  await Promise.all(
    Array.from({ length: lanes }, async (_, esim) => {
      for (let n = 0; !stopping.signal.aborted; n += 1) {
        await acknowledge(`${process.pid}_${esim}_${n}`, `${process.pid}_${esim}`);
        await pause(putEveryMs);
      }
    }),
  );
  return { acknowledged, failed, longestOutageMs, longestPutMs };
}

/** The first attempt of every tenth event fails, so that its lane waits for the second. */
async function handle(id: string, attempt: number): Promise<Effects["effect"]> {
  const began = Date.now();
  await pause(Math.random() * 10);
  const [, , n] = id.split("_");
  if (attempt === 1 && Number(n) % 10 === 0) throw new Error(`no answer for ${id}`);
  return { event: id, lane: id.slice(0, id.lastIndexOf("_")), began, ended: Date.now(), version };
}

if (role === "migrator") await migrate?.();
await inbox.ready?.();
print(`${role} of the ${version} version`);
if (role === "worker") await worker().run({ signal: stopping.signal });
if (role === "receiver") print(`received ${JSON.stringify(await receive())}`);
await inbox.close();
