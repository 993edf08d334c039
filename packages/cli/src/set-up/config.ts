import type { ClientOptions } from "@esim-webhooks/client";
import type {
  ApiEnvironment,
  Catalog,
  DedupeStore,
  EndpointLookup,
  EsimEvents,
  Handlers,
  Inbox,
  InboxWriter,
  ReceiverOptions,
  Secret,
  StateStore,
  Worker,
  WorkerOptions,
} from "@esim-webhooks/core";

/** An inbox with all roles, with the roles that its capabilities state, or with only `put`. */
export type ConfigTarget<Tx = unknown> = Pick<InboxWriter, "put"> &
  Partial<Inbox<Tx> & OwnWorkers & EmbeddedTarget>;

/** An inbox in a file, such as `sqliteInbox`. */
export interface EmbeddedTarget {
  /** The absolute path of its file. */
  readonly path: string;
}

/** An inbox whose engine has workers of its own, such as `bullmqInbox`. */
export interface OwnWorkers {
  /** Makes a worker of the engine, as `createWorker` makes one for other inboxes. */
  createWorker(
    handlers: Handlers<unknown>,
    options: Pick<WorkerOptions<unknown>, "concurrency" | "maxWaitMs" | "shutdownMs" | "catalog" | "logger">,
  ): Worker;
}

/** The options of `esim-webhooks.config.ts`. Flags and the environment take precedence over them. */
export interface Config<Data = EsimEvents, Tx = unknown> {
  /**
   * The environment of the API that this config is for. A config with a secret, a source, a store or credentials is used in no other one.
   * Default `"production"`; `process.env.ESIM_ENVIRONMENT` for a config that reads that variable itself.
   */
  environment?: ApiEnvironment | undefined;
  /** The endpoint's signing secret, in any form that receivers take. `ESIM_WEBHOOK_SECRET` (`ESIM_TEST_WEBHOOK_SECRET`) takes precedence. */
  secret?: Secret;
  /** The event types and their schemas. Default: the eSIM events. Extend them with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** The inbox that stores deliveries. Default: none if there are handlers, which then run inline; else the default inbox. */
  target?: ConfigTarget<Tx>;
  /** The handlers, by event type. They run inline; with a target, workers run them. */
  handlers?: NoInfer<Handlers<Data, Tx>>;
  /** Remembers the ids that inline handlers have done. Default: the Postgres at `DATABASE_URL`, else the data folder. */
  store?: DedupeStore<Tx>;
  /**
   * Keeps how far `reconcile` has come, and what `serve` has seen of events. Use the same database as the target or the store, so that both
   * are lost together.
   * Default: the place of the default inbox or store; none if the target or the store is your own.
   */
  state?: StateStore;
  /** The name of this endpoint. Default `"default"`, or `"test"` in the test environment. */
  source?: string;
  /**
   * For several endpoints, in place of `secret` and `source`: `serve` finds the endpoint of a request by its path below `path`, or answers
   * 404 if this function returns null. Receivers have the same option. `ESIM_WEBHOOK_SECRET` is then only for the other commands.
   */
  endpoints?: EndpointLookup;
  /** The path at which `serve` accepts deliveries; with `endpoints`, also all paths below it. Default `"/webhooks"`. */
  path?: string;
  /** The port on which `serve` listens; 0: any free port. Default 3000. */
  port?: number;
  /** The address on which `serve` listens. Default `"127.0.0.1"`. */
  host?: string;
  /** Options of the receiver of `serve`, as for `nodeHandler`. */
  receiver?: Omit<
    ReceiverOptions<Data, Tx>,
    "secret" | "catalog" | "source" | "endpoints" | "store" | "logger"
  >;
  /** Options of the workers, as for `createWorker`. */
  worker?: Omit<WorkerOptions<Data>, "catalog" | "logger">;
  /** Options of the client of `api`, as for `createClient`. `ESIM_API_URL`, `ESIM_CLIENT_ID` and `ESIM_CLIENT_SECRET` take precedence. */
  api?: Omit<ClientOptions, "logger">;
}

/** Returns the config, typed: `export default defineConfig({ … })`. The catalog and the target or store type the handlers. */
export function defineConfig<Data = EsimEvents, Tx = unknown>(config: Config<Data, Tx>): Config<Data, Tx> {
  return config;
}
