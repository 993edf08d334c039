import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { forbiddenImports, unnamedFiles } from "./architecture.ts";

const root = join(import.meta.dirname, "..");
const sources = new Map(
  globSync("packages/*/src/**/*.ts", { cwd: root }).map((file) => [
    file,
    readFileSync(join(root, file), "utf8"),
  ]),
);

function withLine(file: string, line: string): Map<string, string> {
  return new Map(sources).set(file, `${line}\n${sources.get(file) ?? ""}`);
}

describe("the architecture", () => {
  it("has imports that go only upwards, and packages only as allowed", () => {
    expect(sources.size).toBeGreaterThan(30);
    expect(unnamedFiles(sources)).toEqual([]);
    expect(forbiddenImports(sources)).toEqual([]);
  });

  it("finds a file that is in no room, even one that imports nothing", () => {
    expect(unnamedFiles(withLine("packages/core/src/utils.ts", ""))).toEqual(["packages/core/src/utils.ts"]);
    expect(unnamedFiles(withLine("packages/new/src/index.ts", ""))).toEqual(["packages/new/src/index.ts"]);
  });

  it.each([
    ["a framework from core", "packages/core/src/node.ts", 'import express from "express";'],
    ["a database client from core", "packages/core/src/processor.ts", 'import { Redis } from "ioredis";'],
    ["a neighbour's framework", "packages/express/src/index.ts", 'import fastify from "fastify";'],
    ["downwards in single quotes", "packages/core/src/event.ts", "import { sign } from './signature.ts';"],
    ["downwards in core", "packages/core/src/event.ts", 'import { createReceiver } from "./receiver.ts";'],
    ["a type downwards in core", "packages/core/src/clock.ts", 'import type { Reply } from "./reply.ts";'],
    [
      "a re-export downwards in core",
      "packages/core/src/errors.ts",
      'export { sign } from "./signature.ts";',
    ],
    [
      "a dynamic import downwards in core",
      "packages/core/src/errors.ts",
      'const late = import("./index.ts");',
    ],
    ["itself, the smallest cycle", "packages/core/src/event.ts", 'import "./event.ts";'],
    [
      "testing from the pipeline",
      "packages/core/src/receiver.ts",
      'import { newSecret } from "./testing/index.ts";',
    ],
    [
      "a workspace package from core",
      "packages/core/src/node.ts",
      'import { x } from "@esim-webhooks/express";',
    ],
    ["itself by name", "packages/express/src/index.ts", 'import { x } from "@esim-webhooks/express";'],
    [
      "another package by its path",
      "packages/express/src/index.ts",
      'import { x } from "../../core/src/event.ts";',
    ],
    [
      "core's testing entry from an adapter",
      "packages/express/src/index.ts",
      'import { x } from "@esim-webhooks/core/testing";',
    ],
    [
      "from a file that is in no room",
      "packages/core/src/utils.ts",
      'import { WebhookError } from "./errors.ts";',
    ],
  ])("finds a forbidden import: %s", (_, file, line) => {
    expect(forbiddenImports(withLine(file, line))).toHaveLength(1);
  });
});
