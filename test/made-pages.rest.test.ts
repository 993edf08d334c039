import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type EsimEvents, esimCatalog } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { Ajv } from "ajv";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { clientShape } from "../packages/client/src/client-options.ts";
import { limiterShape } from "../packages/client/src/create-limiter.ts";
import { memoryStoreShape } from "../packages/core/src/memory/memory-store.ts";
import { processorShape } from "../packages/core/src/process/processor.ts";
import { receiverShape } from "../packages/core/src/receive/receiver-options.ts";
import { inboxShape } from "../packages/core/src/store/inbox-options.ts";
import { storeShape } from "../packages/core/src/store/store-options.ts";
import { workerShape } from "../packages/core/src/work/worker-options.ts";
import { importShape, replayShape } from "../packages/import/src/replay/options.ts";
import { postgresShape } from "../packages/store-postgres/src/database/postgres-database.ts";
import { redisShape } from "../packages/store-redis/src/open-redis.ts";
import { sqliteShape } from "../packages/store-sqlite/src/sqlite-options.ts";
import { eventFiles } from "../scripts/docs/asyncapi.ts";
import { errorsPage, everyMessage, readErrorCodes, readErrors } from "../scripts/docs/errors-page.ts";
import { eventsPage, readEvents } from "../scripts/docs/events-page.ts";
import { logLinesPage, readLogLines } from "../scripts/docs/log-lines.ts";
import { metricsPage } from "../scripts/docs/metrics-page.ts";
import { labelOf, optionsPage, readOptions } from "../scripts/docs/options-page.ts";
import { type FunctionWithOptions, packageExports } from "../scripts/docs/read-types.ts";
import { reliabilityPage } from "../scripts/docs/reliability-page.ts";
import { sandboxPage } from "../scripts/docs/sandbox-page.ts";
import { stateMachinePage } from "../scripts/docs/state-machine-page.ts";
import { root } from "./run.ts";

vi.hoisted(() => {
  process.env["DOCUMENTED_DEFAULTS"] = "1"; // see vitest.config.ts
});

const events = readEvents();

describe("docs/events.md", () => {
  it("is what npm run docs makes of the doc comments", () => {
    const page = readFileSync(join(root, "docs/events.md"), "utf8");
    expect(page, "run npm run docs").toBe(eventsPage(page, events));
  });

  it.each(events)("says of $type when it is sent, what usually follows and what to do", ({ doc }) => {
    expect(doc).toMatch(/^[^\n]+.*\n\n\*\*Next:\*\* .*\n\n\*\*Do:\*\* /s);
  });

  it.each(events)("describes the fields of $type, and says which are always there", ({ type, fields }) => {
    for (const { name, doc, type } of fields) {
      expect(doc, name).toMatch(/\.$/);
      expect(type, name).not.toBe("");
    }
    const none = esimCatalog.check({ id: "1", type, timestamp: "2026-11-20T09:30:00Z", data: {} });
    const required = none.kind === "invalid" ? none.issues.map(({ path }) => path.replace("data.", "")) : [];
    const always = fields.filter(({ optional }) => !optional).map(({ name }) => name);
    expect(always.sort()).toEqual(required.sort());
    const described = fields.map(({ name }) => name);
    if (type !== "package.ended")
      expect(described).toEqual(expect.arrayContaining(Object.keys(sampleData(type))));
  });
});

describe("docs/errors.md", () => {
  const [errors, codes] = [readErrors(), readErrorCodes()];

  it("is what npm run docs makes of the sources", () => {
    const page = readFileSync(join(root, "docs/errors.md"), "utf8");
    expect(page, "run npm run docs").toBe(errorsPage(page, errors, codes));
  });

  it("says of every code what is wrong", () => {
    const explained = new Set(errors.map(({ code }) => code));
    expect([...codes].flatMap(([code, doc]) => (doc !== "" || explained.has(code) ? [] : [code]))).toEqual(
      [],
    );
    expect(codes.size).toBeGreaterThan(60);
  });

  it("has a line for each code: what is wrong, and what to do", () => {
    const page = readFileSync(join(root, "docs/errors.md"), "utf8");
    const rows = [...page.matchAll(/^\| <a id="(\w+)"><\/a>`\1` \| (.*[a-z].*) \| (.*[a-z].*) \|$/gm)];
    expect(rows.map(([, code]) => code)).toEqual([...codes.keys()].sort());
  });

  it("explains a code of several messages in its doc comment, for the line that it has", () => {
    const byCode = Map.groupBy(errors, ({ code }) => code);
    const silent = [...codes].filter(([code, doc]) => doc === "" && (byCode.get(code)?.length ?? 0) > 1);
    expect(silent).toEqual([]);
  });

  it("has each message in a page of the site", () => {
    const list = everyMessage(errors, codes);
    expect(list).toContain("## `store_unavailable`");
    for (const code of ["store_unavailable", "invalid_option"])
      for (const { package: of } of errors.filter((it) => it.code === code))
        expect(list).toContain(` | ${of} |`);
  });

  it("has what a function passes on to an error, where that function is called", () => {
    const of = (code: string) => errors.filter((error) => error.code === code);
    expect(of("unknown_event_source").map(({ problem }) => problem)).toEqual([
      expect.stringMatching(/^The event is not an HTTP request of API Gateway/),
      "The event is not a batch of SQS messages.",
    ]);
    expect(of("receivers_not_ready").map(({ remedy }) => remedy)).toContain(
      "Set both (NTP), and rotate again.",
    );
  });
});

describe("packages/core/events", () => {
  const files = eventFiles();
  const schemaOf = (type: string) => JSON.parse(files.get(`${type}.schema.json`) ?? "{}");

  it("has the AsyncAPI document and the JSON Schemas that npm run docs makes of the catalog and the doc comments", () => {
    const folder = join(root, "packages/core/events");
    expect(globSync("*", { cwd: folder }).sort()).toEqual([...files.keys()].sort());
    for (const [name, text] of files)
      expect(readFileSync(join(folder, name), "utf8"), "run npm run docs").toBe(text);
  });

  it("has a message and a schema for each type of the catalog, with what events.md says of its fields", () => {
    const { components, channels } = JSON.parse(files.get("asyncapi.json") ?? "{}");
    expect(Object.keys(components.messages)).toEqual(esimCatalog.types);
    expect(Object.keys(channels.endpoint.messages)).toEqual(esimCatalog.types);
    for (const { type, doc, fields } of events) {
      expect(components.messages[type].description).toBe(doc);
      const { $schema, ...schema } = schemaOf(type);
      expect(components.schemas[type]).toEqual(schema);
      expect($schema).toContain("draft-07");
      for (const field of fields) expect(schema.properties[field.name].description).toBe(field.doc);
    }
    expect(schemaOf("esim.balance.updated").properties.occurredAt.format).toBe("date-time");
  });

  const values = ["", "active", "suspended", "terminated", 0, 1.5, 206, null, true, [], {}, undefined];
  it.each(events)(
    "has a schema for $type that accepts what the catalog accepts, and nothing else",
    ({ type }) => {
      const accepts = new Ajv({ strict: false }).compile(schemaOf(type));
      const isKnown = (data: unknown) =>
        esimCatalog.check({ id: "1", type, timestamp: "2026-11-20T09:30:00Z", data }).kind === "known";
      const sample: EsimEvents[keyof EsimEvents] = sampleData(type);
      expect(accepts(sample)).toBe(true);
      expect(accepts({ ...sample, added: { later: true } })).toBe(true);
      let refused = 0;
      for (const field of Object.keys(sample)) {
        for (const value of values) {
          const data = { ...sample, [field]: value };
          const json = JSON.parse(JSON.stringify(data)); // as it is sent: without what is undefined
          expect(accepts(json), `${field}: ${JSON.stringify(value)}`).toBe(isKnown(json));
          refused += isKnown(json) ? 0 : 1;
        }
      }
      if (type !== "package.ended") expect(refused).toBeGreaterThan(10);
    },
  );
});

it("docs/client.md marks the operations as experimental that editors mark with @experimental", () => {
  const marked = packageExports()
    .membersOf("@esim-webhooks/client", "ApiClient")
    .flatMap(({ name, members }) =>
      members().flatMap((member) => (member.isExperimental ? [`${name}.${member.name}`] : [])),
    );
  const page = readFileSync(join(root, "docs/client.md"), "utf8");
  const rows = [...page.matchAll(/^\| `([\w.]+)\(.* \| experimental \|$/gm)].map(([, name]) => name);
  expect(rows).toEqual(marked);
  expect(rows).toContain("webhooks.rotateSecret");
});

it("docs/events.md marks the events that are experimental, in the table of all types", () => {
  const page = readFileSync(join(root, "docs/events.md"), "utf8");
  const rows = [...page.matchAll(/^\| \[`([\w.]+)`\].* \| experimental \|$/gm)].map(([, type]) => type);
  expect(rows).toEqual(["esim.faulted", "esim.balance.updated"]);
});

describe("docs/log-lines.md", () => {
  const lines = readLogLines();

  it("has every log line of the packages, as npm run docs finds them in the sources", () => {
    const page = readFileSync(join(root, "docs/log-lines.md"), "utf8");
    expect(page, "run npm run docs").toBe(logLinesPage(page, lines));
  });

  it("has lines of each package that logs, with their levels and fields", () => {
    expect(new Set(lines.map((line) => line.package))).toEqual(
      new Set([
        "cli",
        "client",
        "cloudflare",
        "core",
        "dashboard",
        "endpoint",
        "import",
        "lambda",
        "queue-bullmq",
        "store-postgres",
        "store-redis",
        "store-sqlite",
      ]),
    );
    expect(lines).toContainEqual({
      package: "queue-bullmq",
      level: "error",
      message: "The store did not answer.",
      fields: ["attempt", "err", "id", "source", "type"],
    });
  });

  it("says of every line what it is about", () => {
    expect(lines.filter(({ message }) => /^[… ]*$/.test(message))).toEqual([]);
  });
});

it("docs/reliability.md has the faults and the mistakes that npm run docs makes of the laboratory's data", () => {
  const page = readFileSync(join(root, "docs/reliability.md"), "utf8");
  expect(page, "run npm run docs").toBe(reliabilityPage(page));
  expect(page).toContain("| a delivery is acknowledged before it is committed |");
});

it("docs/state-machine.md has the diagram and the tables that npm run docs makes of the transitions", () => {
  const page = readFileSync(join(root, "docs/state-machine.md"), "utf8");
  expect(page, "run npm run docs").toBe(stateMachinePage(page));
  expect(page).toContain("  ready --> leased: take\n");
});

it("docs/observing.md has the metrics that npm run docs makes of the instruments", () => {
  const page = readFileSync(join(root, "docs/observing.md"), "utf8");
  expect(page, "run npm run docs").toBe(metricsPage(page));
});

it("docs/sandbox.md has the switches and the kinds of faults that npm run docs makes of their schemas", () => {
  const page = readFileSync(join(root, "docs/sandbox.md"), "utf8");
  expect(page, "run npm run docs").toBe(sandboxPage(page));
});

describe("docs/options.md", () => {
  const options = readOptions();

  it("is what npm run docs makes of the doc comments", () => {
    const page = readFileSync(join(root, "docs/options.md"), "utf8");
    expect(page, "run npm run docs").toBe(optionsPage(page, options));
  });

  it("has every option of every exported function that takes an options object", () => {
    const functions = packageExports().functionsWithOptions();
    const rows = new Set(options.flatMap(({ name, of }) => of.map((label) => `${label}: ${name}`)));
    const isDescribed = (it: FunctionWithOptions, option: string) =>
      [labelOf(it), `${labelOf(it)} (${it.module.split("/")[1]})`, "every receiver"].some((label) =>
        rows.has(`${label}: ${option}`),
      );
    for (const it of functions)
      expect(
        it.options.filter(({ name }) => !isDescribed(it, name)).map(({ name }) => name),
        it.name,
      ).toEqual([]);
    expect(functions.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "reconcile",
        "createReconciler",
        "rotateSecret",
        "ensureEndpoint",
        "replaceEndpoint",
        "startSandbox",
      ]),
    );
  });

  it("has every exported interface of options, as its own or as a part of another", () => {
    const partsOfOthers = [
      "CallOptions",
      "DatabaseOptions",
      "InboxOptions",
      "PageOptions",
      "RedisOptions",
      "ReplayOptions",
      "TransactionOptions",
    ];
    const forAuthors = [
      "TakeOptions",
      "OpenOptions",
      "OpenInboxOptions",
      "OpenStateOptions",
      "EventJobOptions",
    ];
    const ofMethods = [
      "ChangeOptions",
      "EsimWebhooksAsyncOptions",
      "EsimWebhooksOptions",
      "ListOptions",
      "QueueWorkerOptions",
    ];
    const entries = globSync("packages/*/src/{index,testing}.ts", { cwd: root });
    const exported = entries.flatMap(
      (file) => readFileSync(join(root, file), "utf8").match(/\b\w+Options\b/g) ?? [],
    );
    const ofFunctions = packageExports()
      .functionsWithOptions()
      .map(({ type }) => type);
    expect([...ofFunctions, ...partsOfOthers, ...forAuthors, ...ofMethods]).toEqual(
      expect.arrayContaining(exported),
    );
  });

  it("says of every option what it does", () => {
    expect(options.filter(({ meaning }) => !/\w.*\.$/.test(meaning))).toEqual([]);
  });

  const path = "events.db";
  it.each([
    ["every receiver", receiverShape, {}],
    ["`createProcessor`", processorShape, {}],
    ["`createWorker`", workerShape, {}],
    ["`memoryStore`", memoryStoreShape, {}],
    ["`memoryInbox`", { ...storeShape, ...inboxShape }, {}],
    ["`sqliteStore`", sqliteShape, { path }],
    ["`sqliteInbox`", { ...sqliteShape, ...inboxShape }, { path }],
    ["`redisStore`", { ...redisShape, ...storeShape }, {}],
    ["`postgresStore`", { ...postgresShape, ...storeShape }, {}],
    ["`postgresInbox`", { ...postgresShape, ...storeShape, ...inboxShape }, {}],
    ["`importDeliveries`", importShape, {}],
    ["`replayRecords`", replayShape, {}],
    ["`createClient`", clientShape, {}],
    ["`createLimiter`", limiterShape, {}],
  ] as const)("has the defaults of %s as the code has them", (name, shape, required) => {
    const settings: Readonly<Record<string, unknown>> = z.object(shape).parse(required);
    let checked = 0;
    for (const [option, value] of Object.entries(settings)) {
      if (option in required || !["number", "string", "boolean"].includes(typeof value)) continue;
      const row = options.find((it) => it.name === option && it.of.includes(name));
      expect(waysToWrite(value), `${name}: ${option}`).toContain(row?.default.split(/[,:;] /)[0]);
      checked += 1;
    }
    expect(checked).toBeGreaterThan(0);
  });

  const withTables = globSync("docs/*.md", { cwd: root, exclude: ["docs/options.md"] });
  it.each(withTables)("has the same defaults as the tables of %s", (page) => {
    const tables =
      readFileSync(join(root, page), "utf8").match(/^\| option \| default \|(.*\n)+?(?!\|)/gm) ?? [];
    for (const [, names = "", values = ""] of tables
      .join("")
      .matchAll(/^\| (`.*?`)(?: \(.*?\))? \| (.*?) \|/gm)) {
      const defaults = values.split(", "); // one for each name
      for (const [index, name] of names.replaceAll("`", "").split(", ").entries()) {
        const value = defaults[index]?.replaceAll("`", "") ?? "";
        if (!/^(?:"|\d|true|false)/.test(value)) continue; // described in words of its own
        const rows = options.filter((it) => it.name === name).map((it) => it.default.replaceAll("`", ""));
        expect(
          rows.map((it) => it.split(/[,:;] /)[0]),
          name,
        ).toContain(value);
      }
    }
  });

  it("has the pauses of a worker as the code has them", () => {
    const { backoff } = z.object(workerShape).parse({});
    const row = options.find(({ name }) => name === "backoff");
    expect(row?.default).toBe("full jitter, up to 1 s after the first failure, doubling up to 15 minutes");
    for (const [failure, longestMs] of [
      [1, 1000],
      [2, 2000],
      [100, 15 * 60_000],
    ] as const) {
      const pauses = Array.from({ length: 1000 }, () => backoff(failure)); // random up to the longest
      expect(Math.max(...pauses)).toBeLessThan(longestMs);
      expect(Math.max(...pauses)).toBeGreaterThan(longestMs * 0.9);
    }
  });
});

/** How a value may be written in the table. */
function waysToWrite(value: unknown): string[] {
  if (typeof value !== "number") return [JSON.stringify(value), `\`${JSON.stringify(value)}\``];
  const units = { days: 24 * 60 * 60 * 1000, MiB: 2 ** 20, GiB: 2 ** 30 };
  const inUnits = Object.entries(units).map(([unit, size]) => `${value / size} ${unit}`);
  return [value.toLocaleString("en-US"), ...inUnits];
}
