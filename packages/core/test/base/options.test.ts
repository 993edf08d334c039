import { createProcessor, createReceiver, type DedupeStore, memoryStore } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseOptions } from "../../src/base/options.ts";

describe("options that are not an object", () => {
  const any = z.unknown();

  it.each<[string, Record<string, z.ZodType>, unknown, string]>([
    ["the only ones", { keyPrefix: any }, "redis://localhost", "Pass them by name: { keyPrefix }."],
    ["the first ones", { a: any, b: any, c: any, d: any }, 7, "Pass them by name: { a, b, c, … }."],
    ["path, for a path", { a: any, path: any }, "data/events.db", "Pass them by name: { path }."],
    ["url, for a URL", { a: any, url: any }, "postgres://localhost", "Pass them by name: { url }."],
  ])("are refused, with the names of the options: %s", (_, shape, given, remedy) => {
    expect(() => parseOptions("myStore", shape, given)).toThrow(
      `myStore: the options are not an object. ${remedy}`,
    );
  });

  it("are missed, with the one that is needed", () => {
    expect(() => parseOptions("sqliteInbox", { logger: any, path: any }, undefined)).toThrow(
      "sqliteInbox: there are no options. Pass them by name: { path }.",
    );
  });

  it("are refused by the receiver, which names the secret first", () => {
    expect(() => createReceiver({}, newSecret() as never)).toThrow("Pass them by name: { secret, store, ");
  });
});

describe("a logger that is none", () => {
  it("is refused, with what to pass, next to what is wrong with another option", () => {
    const options = { logger: { info() {} } as never };
    const refused = '"logger": expected an object with debug(), info(), warn(), error()';
    const remedy = "Pass consoleLogger(), or a logger such as pino.";
    expect(() => memoryStore(options)).toThrow(`memoryStore: ${refused}. ${remedy}`);
    const message =
      /retentionMs".*\. Correct the options: .* takes, with units and ranges\. Pass consoleLogger/;
    expect(() => memoryStore({ retentionMs: -1, ...options })).toThrow(message);
    expect(() => fileKeySource("keys.json", options)).toThrow(`fileKeySource: ${refused}. ${remedy}`);
  });
});

describe("a store option that is not a store", () => {
  it.each<[string, unknown, RegExp]>([
    ["a promise of a store", Promise.resolve(memoryStore()), /"store": .*not a promise of it: await it/],
    ["a URL", "redis://localhost:6379", /"store": .*not a URL: call redisStore\(url\)/],
    ["the function that creates a store", memoryStore, /"store": .*not the function: call it/],
    [
      "an object of something else",
      { get() {} },
      /"store": expected an object with claim\(\), .* returns\. /,
    ],
  ])("is refused, with what to do about it: %s", (_, given, message) => {
    const options = { store: given as DedupeStore };
    expect(() => createProcessor({}, options)).toThrow(message);
    expect(() => createReceiver({}, { secret: newSecret(), ...options })).toThrow(message);
  });
});
