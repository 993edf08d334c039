import { DatabaseSync } from "node:sqlite";

/** What the tests' handlers write to, in the same file. No constraint keeps an effect from happening twice. */
export interface Shop {
  orders(): string[];
  run(sql: string): void;
  all(sql: string): unknown[];
  close(): void;
}

export function openShop(path: string): Shop {
  const database = new DatabaseSync(path);
  database.exec(
    "pragma busy_timeout = 5000; create table if not exists orders (event text not null, esim text)",
  );
  return {
    orders: () =>
      database
        .prepare("select event from orders order by event")
        .all()
        .map((row) => String(row["event"])),
    run: (sql) => database.exec(sql),
    all: (sql) => database.prepare(sql).all(),
    close: () => database.close(),
  };
}
