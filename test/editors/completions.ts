import { esimCatalog } from "@esim-webhooks/core";
import { beforeAll, describe, expect, it } from "vitest";
import type { Editor } from "./editor.ts";

const given = `
import { createProcessor, createReceiver, createWorker, defineCatalog, type Inbox, nodeHandler, webhookHandler } from "@esim-webhooks/core";
import { defineConfig } from "@esim-webhooks/cli";
import { webhookRouter } from "@esim-webhooks/express";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { importDeliveries, replayRecords } from "@esim-webhooks/import";
import fastify from "fastify";
import { z } from "zod";
declare const dump: AsyncIterable<Uint8Array>;
declare const records: AsyncIterable<readonly unknown[]>;
declare const inbox: Inbox;
const catalog = defineCatalog({ "port-in.failed": z.object({ reason: z.string() }) });
`;

type Call = (handlers: string) => string;

const calls: Readonly<Record<string, Call>> = {
  webhookRouter: (handlers) => `webhookRouter(${handlers})`,
  webhookPlugin: (handlers) => `fastify().register(webhookPlugin, { handlers: ${handlers} })`,
  webhookHandler: (handlers) => `webhookHandler(${handlers})`,
  nodeHandler: (handlers) => `nodeHandler(${handlers})`,
  createReceiver: (handlers) => `createReceiver(${handlers})`,
  createProcessor: (handlers) => `createProcessor(${handlers})`,
  createWorker: (handlers) => `createWorker(inbox, ${handlers})`,
  importDeliveries: (handlers) => `importDeliveries(dump, ${handlers})`,
  replayRecords: (handlers) => `replayRecords(records, ${handlers})`,
  defineConfig: (handlers) => `defineConfig({ handlers: ${handlers} })`,
};

const callsWithCatalog: Readonly<Record<string, Call>> = {
  webhookRouter: (handlers) => `webhookRouter(${handlers}, { catalog })`,
  webhookPlugin: (handlers) => `fastify().register(webhookPlugin, { catalog, handlers: ${handlers} })`,
  webhookHandler: (handlers) => `webhookHandler(${handlers}, { catalog })`,
  nodeHandler: (handlers) => `nodeHandler(${handlers}, { catalog })`,
  createReceiver: (handlers) => `createReceiver(${handlers}, { catalog })`,
  createProcessor: (handlers) => `createProcessor(${handlers}, { catalog })`,
  createWorker: (handlers) => `createWorker(inbox, ${handlers}, { catalog })`,
  importDeliveries: (handlers) => `importDeliveries(dump, ${handlers}, { catalog })`,
  replayRecords: (handlers) => `replayRecords(records, ${handlers}, { catalog })`,
  defineConfig: (handlers) => `defineConfig({ catalog, handlers: ${handlers} })`,
};

const esimNames = [...esimCatalog.types, "esim.*", "esim.balance.*", "esim.lifecycle.*", "package.*", "*"];

/** Where an inbox is taken too, its methods are offered next to the event types. */
function eventNames(offered: readonly string[]): string[] {
  const names = offered.map((name) => name.replaceAll('"', "")); // in quotes where none were typed
  return names.filter((name) => /[.*]/.test(name)).sort();
}

/** Declares the tests of what is offered in the calls of these names. Default: all. */
export function completions(editor: () => Editor, names: readonly string[] = Object.keys(calls)): void {
  const named = (all: Readonly<Record<string, Call>>) =>
    Object.entries(all).filter(([name]) => names.includes(name));

  beforeAll(async () => expect(await editor().problems(given)).toEqual([]));

  describe.each(named(calls))("%s", (_, call) => {
    it.each(['{ "▮" }', '{ "esim.▮": () => {} }', '{ "*": () => {}, "▮" }', "{ ▮ }"])(
      "offers every event type, every family and the star in %s",
      async (handlers) => {
        expect(eventNames(await editor().complete(given + call(handlers)))).toEqual(esimNames.sort());
      },
    );

    it("offers the fields of the event's data", async () => {
      const offered = await editor().complete(given + call('{ "esim.faulted": ({ data }) => data.▮ }'));
      expect(offered).toEqual(expect.arrayContaining(["detail", "eid", "esimReference", "reason"]));
    });

    it("names an event type that is misspelt, and what has no such type", async () => {
      const [problem] = await editor().problems(given + call('{ "esim.fautled": () => {} }'));
      expect(problem).toMatch(
        /'"esim\.fautled"' does not exist in type '(Handlers|Target|ReplayTarget)<EsimEvents, unknown>'\./,
      );
    });
  });

  it.each(named(callsWithCatalog))("%s offers the types of a catalog of one's own", async (_, call) => {
    const offered = eventNames(await editor().complete(given + call('{ "▮" }')));
    expect(offered).toEqual([...esimNames, "port-in.failed", "port-in.*"].sort());
  });
}
