import { openTypes } from "./read-types.ts";

const everyReceiver = "every receiver";
const isReceiver = (names: string) => names === "`webhookRouter`" || names === "`webhookPlugin`";

/** Functions with options: their names, and the interface of the options. */
export const functions: readonly (readonly [names: string, file: string, options: string])[] = [
  [everyReceiver, "packages/core/src/receive/receiver-options.ts", "ReceiverOptions"],
  ["`webhookRouter`", "packages/express/src/webhook-router.ts", "WebhookRouterOptions"],
  ["`webhookPlugin`", "packages/fastify/src/webhook-plugin.ts", "WebhookPluginOptions"],
  ["`createProcessor`", "packages/core/src/process/processor.ts", "ProcessorOptions"],
  ["`processor.process`", "packages/core/src/process/processor.ts", "Provenance"],
  ["`createWorker`", "packages/core/src/work/worker-options.ts", "WorkerOptions"],
  ["`fullJitter`", "packages/core/src/base/backoff.ts", "FullJitterOptions"],
  ["`memoryStore`", "packages/core/src/store/memory-store.ts", "MemoryStoreOptions"],
  ["`memoryInbox`", "packages/core/src/store/memory-inbox.ts", "MemoryInboxOptions"],
  ["`sqliteStore`", "packages/store-sqlite/src/sqlite-options.ts", "SqliteOptions"],
  ["`sqliteInbox`", "packages/store-sqlite/src/sqlite-inbox.ts", "SqliteInboxOptions"],
  ["`sqliteState`", "packages/store-sqlite/src/sqlite-options.ts", "SqliteFileOptions"],
  ["`redisStore`", "packages/store-redis/src/redis-store.ts", "RedisStoreOptions"],
  ["`redisState`", "packages/store-redis/src/open-redis.ts", "RedisOptions"],
  ["`postgresStore`", "packages/store-postgres/src/postgres-store.ts", "PostgresStoreOptions"],
  ["`postgresInbox`", "packages/store-postgres/src/postgres-inbox.ts", "PostgresInboxOptions"],
  ["`postgresState`", "packages/store-postgres/src/database/postgres-database.ts", "PostgresOptions"],
  ["`bullmqInbox`", "packages/queue-bullmq/src/inbox-settings.ts", "BullmqInboxOptions"],
  ["`bullmqProcessor`", "packages/queue-bullmq/src/work/bullmq-processor.ts", "BullmqProcessorOptions"],
  ["`bullmqInbox(…).createWorker`", "packages/queue-bullmq/src/work/queue-worker.ts", "QueueWorkerOptions"],
  ["`latestOnly` (SQLite)", "packages/store-sqlite/src/latest-only.ts", "LatestOnlyOptions"],
  ["`latestOnly` (Postgres)", "packages/store-postgres/src/latest-only.ts", "LatestOnlyOptions"],
  ["`importDeliveries`", "packages/import/src/import-options.ts", "ImportOptions"],
  ["`replayRecords`", "packages/import/src/replay/replay-records.ts", "ReplayRecordsOptions"],
  ["`createClient`", "packages/client/src/client-options.ts", "ClientOptions"],
  ["calls that change something", "packages/client/src/operations/caller.ts", "ChangeOptions"],
  ["lists", "packages/client/src/operations/listing.ts", "ListOptions"],
  ["`createLimiter`", "packages/client/src/create-limiter.ts", "LimiterOptions"],
  ["`defineConfig`", "packages/cli/src/set-up/config.ts", "Config"],
  ["`verify`", "packages/core/src/verify/signature.ts", "VerifyOptions"],
  ["`signedRequest`", "packages/core/src/send/signed-request.ts", "SignedRequestOptions"],
];

/** An option, as its doc comment describes it. */
export interface OptionDoc {
  readonly name: string;
  /** The functions that take it. */
  readonly of: readonly string[];
  readonly default: string;
  readonly meaning: string;
}

/** Reads the options of every function. Options with the same description are one. */
export function readOptions(): readonly OptionDoc[] {
  const membersOf = openTypes(functions.map(([, file]) => file));
  const options = new Map<string, OptionDoc & { of: string[] }>();
  for (const [names, file, type] of functions) {
    for (const { name, optional, doc } of membersOf(file, type)) {
      const found = options.get(`${name}: ${doc}`);
      if (found === undefined)
        options.set(`${name}: ${doc}`, { name, of: [names], ...readDoc(doc, optional) });
      else if (!isReceiver(names) || !found.of.includes(everyReceiver)) found.of.push(names);
    }
  }
  return [...options.values()];
}

function readDoc(doc: string, optional: boolean): Pick<OptionDoc, "default" | "meaning"> {
  const text = doc.replaceAll(/\s+/g, " ");
  const [sentence = "", value = optional ? "none" : "required"] =
    /(?:^|(?<=\. ))Default:? (.*?)\.(?= |$) ?/.exec(text) ?? [];
  return { default: value, meaning: text.replace(sentence, "").trim() };
}

/** docs/options.md: what is above the marker stays, the rest is made anew. */
export function optionsPage(page: string, options: readonly OptionDoc[]): string {
  const rows = options.map(
    (option) => `| \`${option.name}\` | ${option.of.join(", ")} | ${option.default} | ${option.meaning} |`,
  );
  return `${page.slice(0, page.indexOf(marker))}${marker}

| option | of | default | |
|---|---|---|---|
${rows.join("\n")}
`;
}

const marker = "<!-- Made by npm run docs from the doc comments of the options: edit those. -->";
