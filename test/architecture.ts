import ts from "typescript-classic";

/** Source path (from the repository's root) → its text. */
export type Sources = ReadonlyMap<string, string>;

interface Package {
  /** The names that it may import, next to Node.js: workspace packages and its dependencies. */
  readonly imports: readonly string[];
  /**
   * Its folders, each with those above it from which its files import, besides its own. The files next to the folders import from all of
   * them.
   */
  readonly rooms: Readonly<Record<string, readonly string[]>>;
}

const packages: Readonly<Record<string, Package>> = {
  core: {
    imports: ["@standard-schema/spec", "leven", "zod/locales", "zod/v4/core", "zod/mini"],
    rooms: {
      base: [],
      event: ["base"],
      verify: ["base", "event"],
      store: ["base", "event", "verify"],
      memory: ["base", "event", "store"],
      drift: ["base", "event", "store"],
      lease: ["base"],
      handle: ["base", "event", "store", "lease"],
      process: ["base", "event", "store", "memory", "lease", "handle"],
      work: ["base", "event", "store", "drift", "lease", "handle"],
      receive: ["base", "event", "verify", "store", "drift", "handle", "process"],
      health: ["base", "verify", "store", "work", "receive"],
      run: ["base", "store", "handle", "work", "receive", "health"],
      send: ["base", "event", "verify", "store", "memory", "handle", "process"],
    },
  },
  conformance: {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/observe", "@esim-webhooks/core/testing"],
    rooms: {
      base: [],
      receiver: ["base"],
      store: ["base"],
      state: ["base", "store"],
      keys: ["base"],
      inbox: ["base", "receiver", "store"],
      crash: ["base", "store", "state", "keys", "inbox"],
    },
  },
  import: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "zod/mini",
    ],
    rooms: { dump: [], record: ["dump"], replay: ["dump", "record"] },
  },
  client: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "zod/locales",
      "zod/v4/core",
      "zod/mini",
    ],
    rooms: {
      base: [],
      limit: ["base"],
      http: ["base", "limit"],
      auth: ["base", "http"],
      operations: ["base", "limit", "http"],
    },
  },
  endpoint: {
    imports: [
      "@esim-webhooks/client",
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "@esim-webhooks/import",
      "zod/mini",
    ],
    rooms: {
      base: [],
      reconcile: ["base"],
      change: ["base"],
      rotate: ["base", "reconcile", "change"],
      ensure: ["base", "reconcile", "change"],
    },
  },
  sandbox: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "@esim-webhooks/core/testing",
      "@hono/node-server",
      "@hono/node-server/utils/response",
      "hono/http-exception",
      "hono/utils/http-status",
      "@hono/zod-openapi",
      "hono",
      "undici",
      "zod",
    ],
    rooms: {
      base: [],
      account: ["base"],
      webhook: ["base"],
      esim: ["base", "webhook"],
      number: ["base", "esim"],
      lifecycle: ["base", "account", "esim", "number"],
      sender: ["base", "webhook"],
      "api/call": ["base", "sender"],
      "api/routes": ["base", "account", "webhook", "esim", "number", "lifecycle", "api/call"],
      api: ["base", "account", "sender", "api/call", "api/routes"],
      control: ["base", "account", "webhook", "esim", "number", "lifecycle", "sender", "api/call", "api"],
    },
  },
  "store-redis": {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "ioredis",
      "zod/mini",
    ],
    rooms: {},
  },
  "store-postgres": {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "kysely",
      "pg",
      "zod/mini",
    ],
    rooms: { schema: [], database: ["schema"], sql: ["database"] },
  },
  "store-sqlite": {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "zod/mini",
    ],
    rooms: { database: [], sql: ["database"], thread: ["database", "sql"] },
  },
  "queue-bullmq": {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "@esim-webhooks/core/masking",
      "bullmq",
      "ioredis",
      "zod/mini",
    ],
    rooms: { redis: [], admin: ["redis"], work: ["redis", "admin"] },
  },
  cli: {
    imports: [
      "@esim-webhooks/client",
      "@esim-webhooks/core",
      "@esim-webhooks/core/drift",
      "@esim-webhooks/core/explain",
      "@esim-webhooks/core/health",
      "@esim-webhooks/core/key-file",
      "@esim-webhooks/core/log-lines",
      "@esim-webhooks/core/masking",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "@esim-webhooks/core/run",
      "@esim-webhooks/core/testing",
      "@esim-webhooks/dashboard",
      "@esim-webhooks/endpoint",
      "@esim-webhooks/import",
      "@esim-webhooks/otel",
      "@esim-webhooks/otel/prometheus",
      "@esim-webhooks/sandbox",
      "@esim-webhooks/store-postgres",
      "@esim-webhooks/store-redis",
      "@esim-webhooks/store-sqlite",
      "@opentelemetry/api",
      "@stricli/core",
      "zod/mini",
    ],
    rooms: {
      terminal: [],
      program: ["terminal"],
      flags: ["program"],
      "set-up": ["terminal", "program", "flags"],
      log: ["program"],
      telemetry: ["program", "flags", "set-up"],
      inbox: ["terminal", "program", "flags", "set-up", "log"],
      import: ["terminal", "program", "flags", "set-up", "log"],
      work: ["program", "flags", "set-up", "log", "telemetry"],
      migrate: ["program", "flags", "set-up"],
      serve: ["program", "flags", "set-up", "log", "telemetry", "work"],
      send: ["program", "flags", "set-up"],
      verify: ["program", "flags", "set-up", "send"],
      events: ["terminal", "program", "flags", "set-up"],
      sandbox: ["program", "flags", "set-up", "send"],
      api: ["terminal", "program", "flags", "set-up", "send"],
      dashboard: ["program", "flags", "set-up", "log", "inbox", "api"],
      bench: ["terminal", "program", "flags", "set-up", "log"],
      endpoint: ["terminal", "program", "flags", "set-up", "log", "send", "api"],
      rehearse: ["terminal", "program", "flags", "set-up", "inbox", "import", "work", "api", "endpoint"],
      doctor: ["terminal", "program", "flags", "set-up", "inbox", "serve", "api", "endpoint"],
      listen: ["terminal", "program", "flags", "set-up", "send", "api", "endpoint"],
      commands: [
        "program",
        "flags",
        "inbox",
        "import",
        "work",
        "migrate",
        "serve",
        "send",
        "verify",
        "events",
        "sandbox",
        "api",
        "dashboard",
        "endpoint",
        "rehearse",
        "bench",
        "doctor",
        "listen",
      ],
    },
  },
  otel: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/internal",
      "@esim-webhooks/core/observe",
      "@opentelemetry/api",
      "@opentelemetry/exporter-prometheus",
      "@opentelemetry/sdk-metrics",
    ],
    rooms: {},
  },
  dashboard: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/drift",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "@esim-webhooks/core/masking",
      "zod/mini",
    ],
    rooms: {},
  },
  cloudflare: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "zod/mini",
    ],
    rooms: {},
  },
  express: {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/engine"],
    rooms: {},
  },
  fastify: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "fastify",
      "fastify-plugin",
    ],
    rooms: {},
  },
  nest: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/health",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/run",
      "@nestjs/common",
      "@nestjs/core",
      "reflect-metadata",
    ],
    rooms: {},
  },
  lambda: {
    imports: [
      "@aws-sdk/client-dynamodb",
      "@aws-sdk/client-secrets-manager",
      "@aws-sdk/client-sqs",
      "@aws-sdk/client-ssm",
      "@esim-webhooks/core",
      "@esim-webhooks/core/engine",
      "@esim-webhooks/core/internal",
      "zod/mini",
    ],
    rooms: { base: [], "dynamo-store": ["base"], keys: ["base"] },
  },
};

const importPattern =
  /^(?:import|export)\b[^;]*?\bfrom ["']([^"']+)["'];|\bimport\(["']([^"']+)["']\)|^import ["']([^"']+)["'];/gm;

/** Files in a package or folder that is not named above. */
export function homelessFiles(sources: Sources): string[] {
  return [...sources.keys()].filter((file) => !hasRoom(file));
}

/**
 * Entries of the table above that are wrong: a room without files, as `core: base`; an import that no file has, as `core → zod` or
 * `core: base → event`; and one from a room that is not above.
 */
export function wrongEntries(sources: Sources): string[] {
  const found = new Set([...sources.keys()].map((file) => `${packageNameOf(file)}: ${roomOf(file)}`));
  for (const { file, specifier } of importsOf(sources)) {
    const isWithin = specifier.startsWith(".");
    const place = isWithin ? `${packageNameOf(file)}: ${roomOf(file)}` : packageNameOf(file);
    found.add(`${place} → ${isWithin ? roomOf(targetOf(file, specifier)) : specifier}`);
  }
  return Object.entries(packages).flatMap(([name, { imports, rooms }]) => {
    const names = Object.keys(rooms);
    const entries = imports.map((specifier) => ({ entry: `${name} → ${specifier}`, isAbove: true }));
    for (const [index, room] of names.entries()) {
      entries.push({ entry: `${name}: ${room}`, isAbove: true });
      for (const other of rooms[room] ?? [])
        entries.push({
          entry: `${name}: ${room} → ${other}`,
          isAbove: names.slice(0, index).includes(other),
        });
    }
    return entries.filter(({ entry, isAbove }) => !isAbove || !found.has(entry)).map(({ entry }) => entry);
  });
}

/** Every import that goes where it must not, as `file → import`. */
export function forbiddenImports(sources: Sources): string[] {
  return importsOf(sources)
    .filter(({ file, specifier }) => !isAllowed(file, specifier))
    .map(({ file, specifier }) => `${file} → ${specifier}`);
}

/** Every circle of imports, types included, as `a → b → a`: found once each, from its first file. */
export function cycles(sources: Sources): string[] {
  const targets = new Map<string, string[]>();
  for (const { file, specifier } of importsOf(sources)) {
    if (!specifier.startsWith(".")) continue;
    targets.set(file, [...(targets.get(file) ?? []), targetOf(file, specifier)]);
  }
  const found: string[] = [];
  const finished = new Set<string>();
  const path: string[] = [];
  function visit(file: string): void {
    if (path.includes(file)) {
      found.push([...path.slice(path.indexOf(file)), file].join(" → "));
      return;
    }
    if (finished.has(file)) return;
    path.push(file);
    for (const target of targets.get(file) ?? []) visit(target);
    path.pop();
    finished.add(file);
  }
  for (const file of targets.keys()) visit(file);
  return found;
}

// `error.message`, and `const { message } = error as Error`; the message of an issue is data
const messagePattern =
  /\b(?!issue\b|messaging\b)\w+[?!)]*\.message\b|\bmessage\b[^{}]*\}\s*=[^;]*\b(?:error|cause|thrown|ErrnoException)\b/;

/** Files that read the message of an error. */
export function messageReaders(sources: Sources): string[] {
  return [...sources]
    .filter(([, source]) => messagePattern.test(withoutComments(source)))
    .map(([file]) => file);
}

/** Functions with more than `most` lines of their own, as `file: name, lines`. Of a nested function, only the first line counts. */
export function longFunctions(sources: Sources, most: number): string[] {
  const found: string[] = [];
  for (const [file, source] of sources) {
    const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
    const lineOf = (position: number) => parsed.getLineAndCharacterOfPosition(position).line;
    const nestedLines = (node: ts.Node): number => {
      let lines = 0;
      ts.forEachChild(node, (child) => {
        lines += ts.isFunctionLike(child) ? lineOf(child.end) - lineOf(child.getStart()) : nestedLines(child);
      });
      return lines;
    };
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node)) {
        const lines = lineOf(node.end) - lineOf(node.getStart()) + 1 - nestedLines(node);
        if (lines > most) found.push(`${file}: ${node.name?.getText() ?? "a function"}, ${lines}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(parsed);
  }
  return found;
}

function withoutComments(source: string): string {
  return source.replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, "");
}

function importsOf(sources: Sources): { readonly file: string; readonly specifier: string }[] {
  return [...sources].flatMap(([file, source]) =>
    [...source.matchAll(importPattern)].map((match) => ({
      file,
      specifier: match[1] ?? match[2] ?? match[3] ?? "",
    })),
  );
}

function isAllowed(file: string, specifier: string): boolean {
  if (specifier.startsWith("node:")) return true;
  if (!specifier.startsWith(".")) return packageOf(file).imports.includes(specifier);
  const target = targetOf(file, specifier);
  if (packageNameOf(target) !== packageNameOf(file) || !hasRoom(target) || !hasRoom(file)) return false;
  const [from, to] = [roomOf(file), roomOf(target)];
  return from === to || from === "" || (packageOf(file).rooms[from] ?? []).includes(to);
}

function targetOf(file: string, specifier: string): string {
  return new URL(specifier, `file:///${file}`).pathname.slice(1);
}

/** Its folder within the package; empty for a file next to the folders. */
function roomOf(file: string): string {
  return file.split("/").slice(3, -1).join("/"); // packages/<name>/src/…
}

function hasRoom(file: string): boolean {
  const room = roomOf(file);
  return (
    Object.hasOwn(packages, packageNameOf(file)) &&
    (room === "" || Object.hasOwn(packageOf(file).rooms, room))
  );
}

function packageOf(file: string): Package {
  return packages[packageNameOf(file)] ?? { imports: [], rooms: {} };
}

function packageNameOf(file: string): string {
  return file.split("/")[1] ?? "";
}
