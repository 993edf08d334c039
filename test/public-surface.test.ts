import * as cli from "@esim-webhooks/cli";
import * as client from "@esim-webhooks/client";
import * as conformance from "@esim-webhooks/conformance";
import * as core from "@esim-webhooks/core";
import * as explain from "@esim-webhooks/core/explain";
import * as keyFile from "@esim-webhooks/core/key-file";
import * as keyState from "@esim-webhooks/core/key-state";
import * as kit from "@esim-webhooks/core/kit";
import * as observing from "@esim-webhooks/core/observe";
import * as state from "@esim-webhooks/core/state";
import * as testing from "@esim-webhooks/core/testing";
import * as endpoint from "@esim-webhooks/endpoint";
import * as express from "@esim-webhooks/express";
import * as fastify from "@esim-webhooks/fastify";
import * as importing from "@esim-webhooks/import";
import * as queueBullmq from "@esim-webhooks/queue-bullmq";
import * as sandbox from "@esim-webhooks/sandbox";
import * as storePostgres from "@esim-webhooks/store-postgres";
import * as storeRedis from "@esim-webhooks/store-redis";
import * as storeSqlite from "@esim-webhooks/store-sqlite";
import { expect, it } from "vitest";

it("exports what is meant to be public, and nothing by accident", () => {
  const surface = Object.fromEntries(
    Object.entries({
      core,
      explain,
      keyFile,
      keyState,
      kit,
      observing,
      state,
      testing,
      conformance,
      importing,
      client,
      endpoint,
      express,
      fastify,
      sandbox,
      storePostgres,
      storeRedis,
      storeSqlite,
      queueBullmq,
      cli,
    }).map(([name, module]) => [name, Object.keys(module).sort()]),
  );
  expect(surface).toEqual({
    core: [
      "WebhookError",
      "createCatalog",
      "createKeyring",
      "createProcessor",
      "createReceiver",
      "createWorker",
      "defineCatalog",
      "discard",
      "discardRest",
      "esimCatalog",
      "fullJitter",
      "memoryStore",
      "nodeDelivery",
      "nodeHandler",
      "receiveRequest",
      "retryLater",
      "sign",
      "verify",
      "watchMisses",
      "webhookHandler",
      "writeReply",
    ],
    explain: ["explainVerification"],
    keyFile: ["fileKeySource"],
    keyState: ["stateKeySource"],
    observing: ["observe"],
    state: ["fileState"],
    kit: [
      "byteBuffer",
      "checkArguments",
      "checkEntry",
      "checkRerun",
      "checkStateName",
      "coalesce",
      "createNotice",
      "createPurger",
      "createStage",
      "createStoreGuard",
      "dateTimeMs",
      "decodeEntry",
      "defaultToleranceSeconds",
      "durationMs",
      "encodeEntry",
      "encodeState",
      "eventOf",
      "hasRole",
      "headerReader",
      "idPattern",
      "inboxEntry",
      "inboxShape",
      "isInbox",
      "isServerUrl",
      "keyText",
      "laneReader",
      "listenTo",
      "loggerOption",
      "makeFolder",
      "monotonicClock",
      "occurredAtMs",
      "parseOptions",
      "processorShape",
      "putEntries",
      "readCursor",
      "safeListener",
      "safeLogger",
      "shortestSafeRetentionMs",
      "silentLogger",
      "spreadRetention",
      "startDeadline",
      "storeShape",
      "suggest",
      "systemClock",
      "throttledLog",
      "toleranceOption",
      "warnOfSetup",
      "warnOfShortRetention",
      "withMethods",
      "writeCursor",
    ],
    testing: ["memoryInbox", "newSecret", "sampleData", "signedRequest"],
    conformance: ["inboxSuite", "keySuite", "receiverSuite", "stateSuite", "storeSuite"],
    importing: ["importDeliveries", "observeImports", "readCapturedRequests", "replayRecords"],
    endpoint: [
      "compareTypes",
      "createReconciler",
      "ensureEndpoint",
      "explainChange",
      "fateOf",
      "isSameUrl",
      "listedMs",
      "newestMs",
      "observeReconciliations",
      "occurredAtMs",
      "planRotation",
      "readDeliveries",
      "readWatermark",
      "reconcile",
      "replaceEndpoint",
      "rotateSecret",
      "sentAtMs",
    ],
    client: ["ApiError", "createClient", "createLimiter", "idempotencyKeyOf", "observeCalls"],
    express: ["webhookRouter"],
    fastify: ["webhookPlugin"],
    storePostgres: ["latestOnly", "postgresCopyTarget", "postgresInbox", "postgresState", "postgresStore"],
    storeRedis: ["redisState", "redisStore"],
    storeSqlite: [
      "latestOnly",
      "sqliteBackup",
      "sqliteCheck",
      "sqliteCopySource",
      "sqliteInbox",
      "sqliteState",
      "sqliteStore",
    ],
    queueBullmq: ["bullmqInbox", "bullmqProcessor"],
    sandbox: ["Refused", "startSandbox"],
    cli: ["defineConfig"],
  });
});
