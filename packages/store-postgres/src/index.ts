export type { DatabaseOptions, Pool } from "./database.ts";
export type { EmbeddedStoreOptions } from "./embedded-store.ts";
export { embeddedStore } from "./embedded-store.ts";
export type { PostgresStore, PostgresStoreOptions } from "./postgres-store.ts";
export { postgresStore } from "./postgres-store.ts";
export type { TransactionalStore } from "./sql-store.ts";
