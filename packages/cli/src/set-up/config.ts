import type {
  Catalog,
  DedupeStore,
  EsimEvents,
  Handlers,
  Inbox,
  InboxWriter,
  Secret,
  WorkerOptions,
} from "@esim-webhooks/core";

/** An inbox with all of its roles or some, which it states in its capabilities, or no more than a `put`. */
export type ConfigTarget<Tx = unknown> = Pick<InboxWriter, "put"> & Partial<Inbox<Tx>>;

/** What an `esim-webhooks.config.ts` may say. Flags and the environment count before it. */
export interface Config<Data = EsimEvents, Tx = unknown> {
  /** The endpoint's signing secret, in any form that receivers take. `ESIM_WEBHOOK_SECRET` counts before it. */
  secret?: Secret;
  /** Default: the eSIM events. Extend it with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** The inbox that deliveries are stored in. Left out: handlers are worked inline, or, without any, the default inbox. */
  target?: ConfigTarget<Tx>;
  /** What is done with each event: inline, or by workers where there is a target. */
  handlers?: NoInfer<Handlers<Data, Tx>>;
  /** Where inline handlers' done ids are remembered. Default: the Postgres at `DATABASE_URL`, or the data folder. */
  store?: DedupeStore<Tx>;
  /** The name of this endpoint. Default `"default"`. */
  source?: string;
  /** Where `serve` takes deliveries. Default `"/webhooks"`. */
  path?: string;
  /** What `serve` listens at. Default 3000; 0: a free one. */
  port?: number;
  /** Default `"127.0.0.1"`. */
  host?: string;
  /** How workers work. */
  worker?: Omit<WorkerOptions<Data>, "catalog" | "logger">;
}

/** Types a config file: `export default defineConfig({ … })`, with handlers typed by its catalog and target. */
export function defineConfig<Data = EsimEvents, Tx = unknown>(config: Config<Data, Tx>): Config<Data, Tx> {
  return config;
}
