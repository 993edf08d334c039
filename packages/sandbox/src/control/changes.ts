import type { Database } from "../base/database.ts";

/** What the page shows. Each is a path of the control side. */
export type View = "esims" | "endpoints" | "deliveries" | "state";

export const views: readonly View[] = ["esims", "endpoints", "deliveries", "state"];

/** Tells which views have changed. */
export interface Changes {
  tell(view: View): void;
  /** Returns a function that unsubscribes. */
  listen(listener: (view: View) => void): () => void;
}

const viewsOf: Readonly<Record<string, readonly View[]>> = {
  clients: ["state"],
  variants: ["state"],
  profiles: ["esims"],
  esims: ["esims"],
  packages: ["esims"],
  portIns: ["esims"],
  numbers: ["esims"],
  endpoints: ["endpoints", "deliveries"], // a deleted endpoint takes its deliveries with it
  deliveries: ["deliveries"],
};

export function createChanges(): Changes {
  const listeners = new Set<(view: View) => void>();
  return {
    tell(view) {
      for (const listener of listeners) listener(view);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The same database, which tells what its statements write. A transaction that is rolled back was told, too. */
export function tellingDatabase(db: Database, changes: Changes): Database {
  const written = new Map<string, readonly View[]>();
  function tell(sql: string): void {
    let changed = written.get(sql);
    if (changed === undefined) {
      const [, table = ""] = /^\s*(?:insert(?: or \w+)? into|update|delete from) (\w+)/i.exec(sql) ?? [];
      changed = viewsOf[table] ?? [];
      written.set(sql, changed);
    }
    for (const view of changed) changes.tell(view);
  }
  return {
    get(sql, ...values) {
      tell(sql); // it may have a "returning"
      return db.get(sql, ...values);
    },
    all(sql, ...values) {
      tell(sql);
      return db.all(sql, ...values);
    },
    run(sql, ...values) {
      tell(sql);
      return db.run(sql, ...values);
    },
    transaction: (work) => db.transaction(work),
    close: () => db.close(),
  };
}
