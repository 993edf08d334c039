import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  cycles,
  forbiddenImports,
  homelessFiles,
  longFunctions,
  messageReaders,
  wrongEntries,
} from "./architecture.ts";

const root = join(import.meta.dirname, "..");
const sources = new Map(
  globSync("packages/*/src/**/*.ts", { cwd: root }).map((file) => [
    file,
    readFileSync(join(root, file), "utf8"),
  ]),
);

/** Code matches on an error's code and fields. These files may read its message, each for this reason. */
const mayReadMessages = {
  "printed, masked, logged or passed on for that": [
    "packages/cli/src/import/dump-file.ts",
    "packages/cli/src/program/error-text.ts",
    "packages/cli/src/program/parser-text.ts",
    "packages/client/src/base/bare-error.ts",
    "packages/client/src/http/admission.ts",
    "packages/conformance/src/inbox/inbox-workers.ts",
    "packages/core/src/base/shown-error.ts",
    "packages/core/src/base/winston-logger.ts",
    "packages/core/src/receive/verifier.ts",
    "packages/core/src/store/error-text.ts",
    "packages/core/src/store/store-guard.ts",
    "packages/core/src/verify/explain.ts",
    "packages/endpoint/src/change/write-record.ts",
    "packages/import/src/import-deliveries.ts",
    "packages/sandbox/src/api/call/error-answer.ts",
    "packages/sandbox/src/control/app.ts",
    "packages/sandbox/src/sender/http-client.ts",
    "packages/store-postgres/src/database/errors.ts",
    "packages/store-postgres/src/database/watched-pool.ts",
    "packages/store-sqlite/src/database/faults.ts",
    "packages/store-sqlite/src/sql/handler-statements.ts",
    "packages/store-sqlite/src/thread/file-threads.ts",
    "packages/store-sqlite/src/thread/thread-handle.ts",
  ],
  "an error of another program or of Node.js, which shows its kind by its text alone": [
    "packages/cli/src/send/post.ts",
    "packages/cli/src/set-up/config-file.ts",
    "packages/core/src/base/replace-when-refused.ts",
    "packages/import/src/dump/record.ts",
    "packages/queue-bullmq/src/redis/attempt-note.ts",
    "packages/queue-bullmq/src/redis/errors.ts",
    "packages/queue-bullmq/src/work/bullmq-processor.ts",
    "packages/queue-bullmq/src/work/event-job.ts",
    "packages/store-redis/src/client.ts",
    "packages/store-redis/src/errors.ts",
    "packages/store-redis/src/eviction.ts",
    "packages/store-redis/src/scripts.ts",
  ],
  "a field of that name that is not an error's": [
    "packages/cli/src/doctor/store-checks.ts",
    "packages/sandbox/src/number/port-in-steps.ts",
  ],
  "a suite that looks for secrets in it": ["packages/conformance/src/keys/key-records.ts"],
};

/** `fsync` and `fdatasync` of `node:fs` take the `fd` of a handle instead. */
const missingUnderPnp = /\.(?:sync|datasync|utimes|readv|readableWebStream)\(|\bawait using\b[^;]*\bopen\(/;

/** The files of adapters. Stores, inboxes and keys are none. */
const adapters = [...sources.keys()].filter((file) =>
  /^packages\/(?:express|fastify|nest|lambda|cloudflare)\/src\/(?!.*(?:inbox|store|object)\.ts$)[^/]+$/.test(
    file,
  ),
);

function withLine(file: string, line: string): Map<string, string> {
  return new Map(sources).set(file, `${line}\n${sources.get(file) ?? ""}`);
}

describe("the architecture", () => {
  it("has only imports that the table allows: within a room, to named rooms above it, and to named packages", () => {
    expect(sources.size).toBeGreaterThan(30);
    expect(homelessFiles(sources)).toEqual([]);
    expect(forbiddenImports(sources)).toEqual([]);
  });

  it("names no room, and allows no import, that no file has", () => {
    expect(wrongEntries(sources)).toEqual([]);
  });

  it("finds a room that does not exist, and what is allowed in vain", () => {
    const others = [...sources].filter(([file]) => !file.startsWith("packages/core/src/lease/"));
    const withoutLease = new Map(
      others.map(([file, text]) => [file, text.replaceAll("../lease/", "../base/")]),
    );
    expect(wrongEntries(withoutLease)).toEqual([
      "core: lease",
      "core: lease → base",
      "core: handle → lease",
      "core: process → lease",
      "core: work → lease",
    ]);
  });

  it("has no cycle of imports", () => {
    expect(cycles(sources)).toEqual([]);
  });

  it("has thin adapters, of at most 120 lines a file without comments", () => {
    const isCode = (line: string) => !/^\s*(\/\*\*|\*|\/\/)/.test(line);
    const lines = (file: string) => sources.get(file)?.trimEnd().split("\n").filter(isCode).length ?? 0;
    expect(adapters).toEqual(
      expect.arrayContaining([
        "packages/express/src/webhook-router.ts",
        "packages/fastify/src/webhook-plugin.ts",
        "packages/nest/src/esim-webhooks.ts",
        "packages/lambda/src/lambda-handler.ts",
        "packages/cloudflare/src/queue-handler.ts",
      ]),
    );
    expect(adapters.filter((file) => lines(file) > 120)).toEqual([]);
  });

  it("has no function of more than 90 lines of its own", () => {
    expect(longFunctions(sources, 90)).toEqual([]);
  });

  it("finds a long function, and does not count the lines of nested ones", () => {
    const nested = ["const nested = () => {", "go();", "go();", "};"];
    const source = ["function long() {", ...nested, "go();", "go();", "}"].join("\n");
    expect(longFunctions(new Map([["long.ts", source]]), 4)).toEqual(["long.ts: long, 5"]);
    expect(longFunctions(new Map([["long.ts", source]]), 5)).toEqual([]);
  });

  it("finds a file that is in no room, even one that imports nothing", () => {
    for (const file of ["packages/core/src/utils/text.ts", "packages/new/src/index.ts"]) {
      expect(homelessFiles(withLine(file, ""))).toEqual([file]);
    }
  });

  it.each([
    ["a framework from core", "packages/core/src/receive/node.ts", 'import express from "express";'],
    [
      "a database client from core",
      "packages/core/src/process/processor.ts",
      'import { Redis } from "ioredis";',
    ],
    ["a neighbour's framework", "packages/express/src/index.ts", 'import fastify from "fastify";'],
    [
      "downwards in single quotes",
      "packages/core/src/event/event.ts",
      "import { sign } from '../verify/signature.ts';",
    ],
    [
      "downwards in core",
      "packages/core/src/event/event.ts",
      'import { createReceiver } from "../receive/receiver.ts";',
    ],
    [
      "a room above that its own room does not know",
      "packages/core/src/handle/handler.ts",
      'import { sign } from "../verify/signature.ts";',
    ],
    [
      "a type downwards in core",
      "packages/core/src/base/clock.ts",
      'import type { Reply } from "../receive/reply.ts";',
    ],
    [
      "a re-export downwards in core",
      "packages/core/src/base/errors.ts",
      'export { sign } from "../verify/signature.ts";',
    ],
    [
      "a dynamic import of the package's own entry",
      "packages/core/src/base/errors.ts",
      'const late = import("../index.ts");',
    ],
    [
      "what sends from what receives",
      "packages/core/src/receive/receiver.ts",
      'import { newSecret } from "../send/signed-request.ts";',
    ],
    [
      "a workspace package from core",
      "packages/core/src/receive/node.ts",
      'import { x } from "@esim-webhooks/express";',
    ],
    ["itself by name", "packages/express/src/index.ts", 'import { x } from "@esim-webhooks/express";'],
    [
      "another package by its path",
      "packages/express/src/index.ts",
      'import { x } from "../../core/src/event/event.ts";',
    ],
    [
      "core's testing entry from an adapter",
      "packages/express/src/index.ts",
      'import { x } from "@esim-webhooks/core/testing";',
    ],
    [
      "from a file that is in no room",
      "packages/core/src/utils/text.ts",
      'import { WebhookError } from "../base/errors.ts";',
    ],
  ])("finds a forbidden import: %s", (_, file, line) => {
    expect(forbiddenImports(withLine(file, line))).toHaveLength(1);
  });

  it("lets reconcile use the driver of imports, and none of their words for dumps", () => {
    const ofImport = /^import (type )?\{([^}]*)\} from "@esim-webhooks\/import";/gm;
    const names = [...sources]
      .filter(([file]) => file.startsWith("packages/endpoint/"))
      .flatMap(([, text]) => [...text.matchAll(ofImport)].map((match) => match[2]?.trim()));
    expect(names.sort()).toEqual(["ReplayOptions", "replayRecords"]);
  });

  it("reads the message of an error only where it is printed, or where a foreign error has nothing else", () => {
    expect(messageReaders(sources).sort()).toEqual(Object.values(mayReadMessages).flat().sort());
  });

  it.each([
    "const text = error.message;",
    "const { message } = error as Error;",
    "f((error as Error).message);",
  ])("finds a message that is read: %s", (line) => {
    const file = "packages/core/src/base/clock.ts";
    expect(messageReaders(withLine(file, line))).toContain(file);
  });

  it("calls no method of a file handle that Yarn's Plug'n'Play lacks", () => {
    expect([...sources].flatMap(([file, text]) => (missingUnderPnp.test(text) ? [file] : []))).toEqual([]);
  });

  it.each([
    "await handle.sync();",
    "flush: () => handle.datasync(),",
    "await using handle = await open(path);",
  ])("finds a method that is missing there: %s", (line) => {
    expect(line).toMatch(missingUnderPnp);
  });

  it.each([
    ["itself, the smallest cycle", "packages/core/src/event/event.ts", 'import "./event.ts";'],
    [
      "two files of one room",
      "packages/core/src/verify/secret.ts",
      'import type { Keyring } from "./keyring.ts";',
    ],
  ])("finds a cycle: %s", (_, file, line) => {
    expect(cycles(withLine(file, line)).length).toBeGreaterThan(0);
  });
});
