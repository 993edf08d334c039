/** Source path (from the repository's root) → its text. */
export type Sources = ReadonlyMap<string, string>;

interface Package {
  /** What it may import by name, besides Node.js: workspace packages and its dependencies. */
  readonly imports: readonly string[];
  /** Its files in the order in which they build on one another: a file imports only from above it. */
  readonly rooms: readonly string[];
}

const packages: Readonly<Record<string, Package>> = {
  core: {
    imports: ["@standard-schema/spec", "csv-parse/sync", "leven", "zod"],
    rooms: [
      "errors.ts",
      "clock.ts",
      "backoff.ts",
      "bell.ts",
      "logger.ts",
      "options.ts",
      "deadline.ts",
      "coalesce.ts",
      "delivery.ts",
      "event.ts",
      "secret.ts",
      "hmac.ts",
      "signing-key.ts",
      "keyring.ts",
      "key-source.ts",
      "loaded-keyring.ts",
      "signature.ts",
      "explain.ts",
      "catalog.ts",
      "esim-catalog.ts",
      "outcome.ts",
      "body.ts",
      "dedupe-store.ts",
      "store-options.ts",
      "store-guard.ts",
      "store.ts",
      "inbox.ts",
      "memory-store.ts",
      "handler.ts",
      "dispatcher.ts",
      "reply.ts",
      "lease.ts",
      "settler.ts",
      "transacted.ts",
      "handler-context.ts",
      "processor.ts",
      "worker-leases.ts",
      "taken-work.ts",
      "worker-hands.ts",
      "worker.ts",
      "target.ts",
      "verifier.ts",
      "receiver.ts",
      "import/record.ts",
      "import/damage.ts",
      "import/bounds.ts",
      "import/byte-source.ts",
      "import/engine.ts",
      "import/inflate.ts",
      "import/gzip.ts",
      "import/zstd.ts",
      "import/zip-header.ts",
      "import/zip.ts",
      "import/each-entry.ts",
      "import/json-text.ts",
      "import/json-layout.ts",
      "import/csv-header.ts",
      "import/recognise.ts",
      "import/recorder.ts",
      "import/splitter.ts",
      "import/json-scanner.ts",
      "import/json-lines.ts",
      "import/csv-rows.ts",
      "import/csv.ts",
      "import/split.ts",
      "import/read-dump.ts",
      "import/dumped-event.ts",
      "import/delivery-record.ts",
      "import/captured-request.ts",
      "import/mapping.ts",
      "import/record-reader.ts",
      "import/filter.ts",
      "import/proof.ts",
      "import/ledger.ts",
      "import/import-report.ts",
      "import/import-options.ts",
      "import/read-event.ts",
      "import/destination.ts",
      "import/into-nothing.ts",
      "import/into-inbox.ts",
      "import/into-processor.ts",
      "import/import-target.ts",
      "import/rejects-file.ts",
      "import/judge.ts",
      "import/sorted-runs.ts",
      "import/oldest-first.ts",
      "import/stretch.ts",
      "import/settling.ts",
      "import/checkpoint.ts",
      "import/watched-input.ts",
      "import/journal.ts",
      "import/import-records.ts",
      "import/progress.ts",
      "import/import-deliveries.ts",
      "fetch.ts",
      "node.ts",
      "index.ts",
      "testing/samples.ts",
      "testing/signed-request.ts",
      "testing/wire.ts",
      "testing/runner.ts",
      "testing/server.ts",
      "testing/scenario.ts",
      "testing/status-contract.ts",
      "testing/bad-input.ts",
      "testing/receiver-suite.ts",
      "testing/store-context.ts",
      "testing/store-process.ts",
      "testing/store-states.ts",
      "testing/store-processes.ts",
      "testing/store-faults.ts",
      "testing/store-suite.ts",
      "testing/inbox-context.ts",
      "testing/inbox-puts.ts",
      "testing/inbox-takes.ts",
      "testing/inbox-replays.ts",
      "testing/inbox-operations.ts",
      "testing/inbox-lanes.ts",
      "testing/inbox-faults.ts",
      "testing/inbox-suite.ts",
      "testing/index.ts",
    ],
  },
  "store-redis": {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/store", "ioredis", "zod"],
    rooms: ["client.ts", "eviction.ts", "scripts.ts", "replicas.ts", "redis-store.ts", "index.ts"],
  },
  "store-postgres": {
    imports: [
      "@electric-sql/pglite",
      "@esim-webhooks/core",
      "@esim-webhooks/core/store",
      "kysely",
      "pg",
      "zod",
    ],
    rooms: [
      "plain.ts",
      "connection-handle.ts",
      "database.ts",
      "tables.ts",
      "migrations.ts",
      "lazy-transaction.ts",
      "sql/claim.ts",
      "sql/mark.ts",
      "sql/forget.ts",
      "sql/given.ts",
      "sql/put.ts",
      "sql/rerun.ts",
      "sql/take.ts",
      "sql/settle.ts",
      "sql/operate.ts",
      "sql/recover.ts",
      "folder-lock.ts",
      "postgres-database.ts",
      "embedded-database.ts",
      "run-on.ts",
      "transact.ts",
      "sql-store.ts",
      "postgres-store.ts",
      "embedded-store.ts",
      "hints.ts",
      "inbox-options.ts",
      "sql-inbox.ts",
      "postgres-inbox.ts",
      "embedded-inbox.ts",
      "latest-only.ts",
      "index.ts",
    ],
  },
  cli: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/store",
      "@esim-webhooks/core/testing",
      "@esim-webhooks/store-postgres",
      "@esim-webhooks/store-redis",
      "@stricli/auto-complete",
      "@stricli/core",
      "zod",
    ],
    rooms: [
      "program-error.ts",
      "exit-code.ts",
      "error-text.ts",
      "output.ts",
      "context.ts",
      "help.ts",
      "number-flag.ts",
      "set-up-flags.ts",
      "config.ts",
      "config-file.ts",
      "set-up.ts",
      "open-target.ts",
      "outcome-logger.ts",
      "stopping.ts",
      "moment.ts",
      "terminal/paint.ts",
      "terminal/layout.ts",
      "terminal/text.ts",
      "terminal/quantities.ts",
      "terminal/table.ts",
      "terminal/bar-chart.ts",
      "terminal/progress-bar.ts",
      "terminal/confirm.ts",
      "masking/mask-text.ts",
      "masking/mask-event.ts",
      "inbox/filter.ts",
      "inbox/action.ts",
      "inbox/flags.ts",
      "inbox/with-inbox.ts",
      "inbox/matching.ts",
      "inbox/count-events.ts",
      "inbox/row-json.ts",
      "inbox/stats-view.ts",
      "inbox/list-view.ts",
      "inbox/show-view.ts",
      "inbox/stats.ts",
      "inbox/list.ts",
      "inbox/show.ts",
      "inbox/retry.ts",
      "inbox/discard.ts",
      "inbox/purge.ts",
      "commands/inbox.ts",
      "import/flags.ts",
      "import/ledger-view.ts",
      "import/report-view.ts",
      "import/meter.ts",
      "import/dump-file.ts",
      "import/import-logger.ts",
      "import/import-target.ts",
      "import/verdict.ts",
      "import/explained.ts",
      "import/import-dump.ts",
      "commands/import.ts",
      "work/told-inbox.ts",
      "work/start-worker.ts",
      "work/work.ts",
      "serve/listener.ts",
      "serve/serve.ts",
      "commands/serve.ts",
      "commands/work.ts",
      "commands/completion.ts",
      "app.ts",
      "completion.ts",
      "main.ts",
      "index.ts",
    ],
  },
  express: { imports: ["@esim-webhooks/core"], rooms: ["webhook-router.ts", "index.ts"] },
  fastify: {
    imports: ["@esim-webhooks/core", "fastify", "fastify-plugin"],
    rooms: ["webhook-plugin.ts", "index.ts"],
  },
};

const importPattern =
  /^(?:import|export)\b[^;]*?\bfrom ["']([^"']+)["'];|\bimport\(["']([^"']+)["']\)|^import ["']([^"']+)["'];/gm;

/** Files that have no room yet: name them above. */
export function unnamedFiles(sources: Sources): string[] {
  return [...sources.keys()].filter((file) => !roomsOf(file).includes(pathOf(file)));
}

/** Every import that goes where it must not, as `file → import`. Empty: no cycle either, since all go upwards. */
export function forbiddenImports(sources: Sources): string[] {
  return [...sources].flatMap(([file, source]) =>
    [...source.matchAll(importPattern)]
      .map((match) => match[1] ?? match[2] ?? match[3] ?? "")
      .filter((specifier) => !isAllowed(file, specifier))
      .map((specifier) => `${file} → ${specifier}`),
  );
}

function isAllowed(file: string, specifier: string): boolean {
  if (specifier.startsWith("node:")) return true;
  if (!specifier.startsWith(".")) return packageOf(file).imports.includes(specifier);
  const rooms = roomsOf(file);
  // a path out of the package is in no room, and neither is a file that nobody has named above
  const target = new URL(specifier, `file:///src/${pathOf(file)}`).pathname.replace("/src/", "");
  const room = rooms.indexOf(target);
  return room !== -1 && room < rooms.indexOf(pathOf(file));
}

function packageOf(file: string): Package {
  return packages[file.split("/")[1] ?? ""] ?? { imports: [], rooms: [] };
}

function roomsOf(file: string): readonly string[] {
  return packageOf(file).rooms;
}

/** `packages/core/src/testing/wire.ts` → `testing/wire.ts` */
function pathOf(file: string): string {
  return file.split("/").slice(3).join("/");
}
