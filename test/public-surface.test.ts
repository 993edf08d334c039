import * as core from "@esim-webhooks/core";
import * as testing from "@esim-webhooks/core/testing";
import * as express from "@esim-webhooks/express";
import * as fastify from "@esim-webhooks/fastify";
import { expect, it } from "vitest";

it("exports what is meant to be public, and nothing by accident", () => {
  const surface = Object.fromEntries(
    Object.entries({ core, testing, express, fastify }).map(([name, module]) => [
      name,
      Object.keys(module).sort(),
    ]),
  );
  expect(surface).toEqual({
    core: [
      "WebhookError",
      "createCatalog",
      "createKeyring",
      "createProcessor",
      "createReceiver",
      "defineCatalog",
      "discard",
      "discardRest",
      "esimCatalog",
      "explainVerification",
      "fileKeySource",
      "memoryStore",
      "nodeDelivery",
      "nodeHandler",
      "retryLater",
      "sign",
      "verify",
      "webhookHandler",
      "writeReply",
    ],
    testing: ["newSecret", "receiverSuite", "sampleData", "signedRequest"],
    express: ["webhookRouter"],
    fastify: ["webhookPlugin"],
  });
});
