import * as cli from "@esim-webhooks/cli";
import * as core from "@esim-webhooks/core";
import * as store from "@esim-webhooks/core/store";
import * as testing from "@esim-webhooks/core/testing";
import * as express from "@esim-webhooks/express";
import * as fastify from "@esim-webhooks/fastify";
import * as storePostgres from "@esim-webhooks/store-postgres";
import * as storeRedis from "@esim-webhooks/store-redis";
import { expect, it } from "vitest";

it("exports what is meant to be public, and nothing by accident", () => {
  const surface = Object.fromEntries(
    Object.entries({ core, store, testing, express, fastify, storePostgres, storeRedis, cli }).map(
      ([name, module]) => [name, Object.keys(module).sort()],
    ),
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
      "explainVerification",
      "fileKeySource",
      "fullJitter",
      "importDeliveries",
      "memoryStore",
      "nodeDelivery",
      "nodeHandler",
      "retryLater",
      "sign",
      "verify",
      "webhookHandler",
      "writeReply",
    ],
    store: [
      "coalesce",
      "createStoreGuard",
      "durationMs",
      "parseOptions",
      "steadyClock",
      "storeShape",
      "suggest",
      "throttledLog",
      "warnOfSetup",
      "warnOfShortRetention",
      "withMethods",
    ],
    testing: ["inboxSuite", "newSecret", "receiverSuite", "sampleData", "signedRequest", "storeSuite"],
    express: ["webhookRouter"],
    fastify: ["webhookPlugin"],
    storePostgres: ["embeddedInbox", "embeddedStore", "latestOnly", "postgresInbox", "postgresStore"],
    storeRedis: ["redisStore"],
    cli: ["defineConfig"],
  });
});
