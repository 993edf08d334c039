import type { Database } from "./base/database.ts";

const everyMs = 1000;

/** The service's time when it was last saved; 0 for a new database. */
export function savedTime(db: Database): number {
  return db.get<{ now: number }>("select now from clock")?.now ?? 0;
}

/** Saves the service's time once a second, and when the function that it returns is called, which ends it. */
export function keepTime(db: Database, now: () => number): () => void {
  if (savedTime(db) === 0) db.run("insert into clock (now) values (?)", now());
  const save = () => void db.run("update clock set now = ?", now());
  const timer = setInterval(save, everyMs).unref();
  return () => {
    clearInterval(timer);
    save();
  };
}
