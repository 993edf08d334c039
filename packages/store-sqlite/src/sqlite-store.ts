import type { DedupeStore, EventKey, Transacted } from "@esim-webhooks/core";
import {
  createPurger,
  parseOptions,
  spreadRetention,
  warnOfShortRetention,
} from "@esim-webhooks/core/engine";
import { openSqlite } from "./open-sqlite.ts";
import type { CompleteInput } from "./sql/claim.ts";
import { type SqliteOptions, sqliteShape } from "./sqlite-options.ts";
import { type SqliteTransaction, transact } from "./transact.ts";

/** A dedupe store. What a handler writes to the same file by `context.tx` is committed together with the done mark. */
export interface SqliteStore extends DedupeStore<SqliteTransaction> {
  ready(): Promise<void>;
  /** Makes or updates the tables, which takes about a second for two million events. Without it, the first operation does so within its timeout. */
  migrate(): Promise<void>;
  transact(
    key: EventKey,
    token: string,
    work: (tx: SqliteTransaction) => Promise<boolean>,
  ): Promise<Transacted>;
}

/**
 * The dedupe store in an SQLite file, for any number of processes on one machine. Needs nothing installed: SQLite is in
 * Node.js. Time is the machine's clock. What a handler writes by `context.tx` commits together with the mark.
 *
 * Throws `invalid_option` or `thread_missing`; operations reject with `store_unavailable`, `store_full`, or a code of `SqliteErrorCode`.
 */
export function sqliteStore(options: SqliteOptions): SqliteStore {
  const settings = parseOptions("sqliteStore", sqliteShape, options);
  const { retentionMs, durability } = settings;
  warnOfShortRetention("sqliteStore", settings);
  const open = openSqlite("sqliteStore", settings);
  const { inWriter } = open;
  const purger = createPurger(open.purge);

  function markOf(key: EventKey, token: string): CompleteInput {
    return { key: plain(key), token, retentionMs: spreadRetention(retentionMs) };
  }

  /** Deletes some ids whose retention has expired, if it is time. */
  function forgetSome(): void {
    purger.purgeIfDue().catch(() => {}); // tried again later
  }

  return {
    capabilities: {
      durable: durability === "full",
      multiProcess: true,
      transactional: true,
      retentionMs,
    },
    place: `the file ${settings.path}`,
    ready: open.ready,
    migrate: open.migrate,
    sources: () => open.inReader("sources", undefined),
    claim: (key, leaseMs, fingerprint) => inWriter("claim", { key: plain(key), leaseMs, fingerprint }),
    extend: (key, token, leaseMs) => inWriter("extend", { key: plain(key), token, leaseMs }),
    async complete(key, token) {
      const completed = await inWriter("complete", markOf(key, token));
      forgetSome();
      return completed;
    },
    release: (key, token) => inWriter("release", { key: plain(key), token }),
    async transact(key, token, work) {
      const transacted = await transact(open, { by: "store", ...markOf(key, token) }, work);
      if (transacted === "committed") forgetSome();
      return transacted;
    },
    close: open.close,
  };
}

/** Returns only the two fields of a key. Others, such as an event, need not or cannot be sent to the writer thread. */
function plain({ source, id }: EventKey): EventKey {
  return { source, id };
}
