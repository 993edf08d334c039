import { EventEmitter } from "node:events";
import { silentLogger } from "@esim-webhooks/core/internal";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { expect, it, onTestFinished, vi } from "vitest";
import { loggerWith } from "../../../test/support/loggers.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { watchedPool } from "../src/database/watched-pool.ts";

expectWarnings("invalid_option");

it("logs the code and the message of a connection's error, and not the client that pg hangs on it", () => {
  const lines: unknown[] = [];
  const debug = (...line: unknown[]) => void lines.push(line);
  const pool = new EventEmitter();
  watchedPool(pool as never, 1000, loggerWith({ debug }));
  const client = { connectionParameters: { host: "db.example" } };
  pool.emit("error", Object.assign(new Error("the server was shut down"), { code: "57P01", client }));
  expect(lines).toEqual([[{ code: "57P01", reason: "the server was shut down" }, "postgres connection"]]);
});

/** A pool whose connections are event emitters, as those of `pg` are. The first attempts to connect reject with `failures`. */
function fakePool(failures: Error[] = []) {
  const opened: EventEmitter[] = [];
  const idle: object[] = [];
  const destroyed: object[] = [];
  const open = () => {
    const connection = new EventEmitter();
    opened.push(connection);
    return { connection };
  };
  const pool = Object.assign(new EventEmitter(), {
    options: { max: 2 },
    async connect() {
      const failure = failures.shift();
      if (failure) throw failure;
      const client = idle.pop() ?? open();
      const release = (destroy = false) => void (destroy ? destroyed : idle).push(client);
      return Object.assign(client, { release });
    },
  });
  return { pool: watchedPool(pool as never, 5000, silentLogger), opened, idle, destroyed };
}

it("connects again while the server starts, but not after another refusal", async () => {
  const starting = Object.assign(new Error("the database system is starting up"), { code: "57P03" });
  const refused = Object.assign(new Error("no such role"), { code: "28000" });
  await fakePool([starting, starting]).pool.connect();
  await expect(fakePool([starting, refused]).pool.connect()).rejects.toBe(refused);
});

it("rejects when every connection was in use for half of the timeout, and gives the next free one to an operation that still waits", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { pool } = fakePool();
  const [first] = [await pool.connect(), await pool.connect()];
  const early = expect(pool.connect()).rejects.toMatchObject({
    code: "store_unavailable",
    message:
      "All 2 connections of the Postgres pool were in use for 2500 ms. Send less to this process, start another one, or pass a pool with more connections.",
  });
  await vi.advanceTimersByTimeAsync(2000);
  const late = pool.connect();
  await vi.advanceTimersByTimeAsync(500);
  await early;
  first.release();
  expect(await late).toBe(first);
  await vi.advanceTimersByTimeAsync(5000);
});

it("closes the connections that were open when a server said that it only reads, once a second", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { pool, opened, idle, destroyed } = fakePool();
  const [idling, refused] = [await pool.connect(), await pool.connect()];
  idling.release();
  vi.advanceTimersByTime(1);
  opened[1]?.emit("errorMessage", { code: "23505" });
  opened[1]?.emit("errorMessage", { code: "25006" });
  refused.release();
  expect(destroyed).toEqual([refused]);
  const fresh = await pool.connect();
  expect(destroyed).toEqual([refused, idling]);
  opened[2]?.emit("errorMessage", { code: "25006" }); // by a role that only reads, at all times
  fresh.release();
  expect(idle).toEqual([fresh]);
  vi.advanceTimersByTime(1000);
  const again = await pool.connect();
  opened[2]?.emit("errorMessage", { code: "25006" });
  again.release();
  expect(destroyed).toEqual([refused, idling, fresh]);
});

it("refuses a pool with native bindings, and gives its client back", async () => {
  let released = 0;
  const release = () => {
    released += 1;
  };
  const pool = { options: {}, connect: async () => ({ native: {}, release }), end: async () => {} };
  await expect(postgresInbox({ pool: pool as never }).ready()).rejects.toThrow(
    /The pool is of pg\.native.* Pass a pool of pg without native bindings/,
  );
  expect(released).toBe(1);
});
