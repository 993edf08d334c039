import type { ServiceClock } from "./base/clock.ts";
import type { Database } from "./base/database.ts";

const everyMs = 1000;

/** The service's time when it was last saved; 0 for a new database. */
export function savedTime(db: Database): number {
  return db.get<{ now: number }>("select now from clock")?.now ?? 0;
}

/** The same database, in which every transaction saves the service's time: after a kill, nothing that was written is in the future. */
export function timekeepingDatabase(db: Database, clock: ServiceClock): Database {
  return {
    ...db,
    transaction: (work) =>
      db.transaction(() => {
        const result = work();
        saveTime(db, clock);
        return result;
      }),
  };
}

/** Saves the service's time once a second, and when the function that it returns is called, which ends it. */
export function keepTime(db: Database, clock: ServiceClock): () => void {
  const timer = setInterval(() => saveTime(db, clock), everyMs).unref();
  return () => {
    clearInterval(timer);
    saveTime(db, clock);
  };
}

function saveTime(db: Database, clock: ServiceClock): void {
  db.run("replace into clock (rowid, now) values (1, ?)", clock.now());
}
