/** Source path (from the repository's root) → its text. */
export type Sources = ReadonlyMap<string, string>;

interface Package {
  /** What it may import by name, besides Node.js: workspace packages and its dependencies. */
  readonly imports: readonly string[];
  /** Its folders: a file imports from its own folder and from those above it. Files next to the folders come last. */
  readonly rooms: readonly string[];
}

const packages: Readonly<Record<string, Package>> = {
  core: {
    imports: ["@standard-schema/spec", "leven", "zod/locales", "zod/v4/core", "zod/mini"],
    rooms: [
      "base",
      "event",
      "verify",
      "store",
      "drift",
      "lease",
      "handle",
      "process",
      "work",
      "receive",
      "health",
      "run",
      "send",
    ],
  },
  conformance: {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/observe", "@esim-webhooks/core/testing"],
    rooms: ["base", "receiver", "store", "state", "keys", "inbox", "crash"],
  },
  import: {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "zod/mini"],
    rooms: ["dump", "record", "replay"],
  },
  client: {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "zod/locales", "zod/v4/core", "zod/mini"],
    rooms: ["base", "limit", "http", "auth", "operations"],
  },
  endpoint: {
    imports: [
      "@esim-webhooks/client",
      "@esim-webhooks/core",
      "@esim-webhooks/core/kit",
      "@esim-webhooks/core/key-file",
      "@esim-webhooks/core/key-state",
      "@esim-webhooks/import",
      "zod/mini",
    ],
    rooms: ["base", "reconcile", "change", "rotate", "ensure"],
  },
  sandbox: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/kit",
      "@esim-webhooks/core/testing",
      "@hono/node-server",
      "@hono/node-server/utils/response",
      "hono/body-limit",
      "hono/http-exception",
      "hono/utils/http-status",
      "@hono/zod-openapi",
      "hono",
      "hono/body-limit",
      "undici",
      "zod",
    ],
    rooms: [
      "base",
      "faults",
      "account",
      "webhook",
      "esim",
      "number",
      "lifecycle",
      "port-in",
      "order",
      "support",
      "sender",
      "api/call",
      "api/routes",
      "api",
      "control",
      "page",
    ],
  },
  "store-redis": {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "ioredis", "zod/mini"],
    rooms: [],
  },
  "store-postgres": {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "kysely", "pg", "zod/mini"],
    rooms: ["schema", "database", "sql"],
  },
  "store-sqlite": {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "zod/mini"],
    rooms: ["database", "sql", "thread"],
  },
  "queue-bullmq": {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "bullmq", "ioredis", "zod/mini"],
    rooms: ["redis", "admin", "work"],
  },
  cli: {
    imports: [
      "@esim-webhooks/client",
      "@esim-webhooks/core",
      "@esim-webhooks/core/drift",
      "@esim-webhooks/core/explain",
      "@esim-webhooks/core/health",
      "@esim-webhooks/core/key-file",
      "@esim-webhooks/core/key-state",
      "@esim-webhooks/core/log-lines",
      "@esim-webhooks/core/masking",
      "@esim-webhooks/core/kit",
      "@esim-webhooks/core/observe",
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
    rooms: [
      "terminal",
      "program",
      "flags",
      "set-up",
      "log",
      "telemetry",
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
      "doctor",
      "listen",
      "commands",
    ],
  },
  otel: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/kit",
      "@esim-webhooks/core/observe",
      "@opentelemetry/api",
      "@opentelemetry/exporter-prometheus",
      "@opentelemetry/sdk-metrics",
    ],
    rooms: [],
  },
  dashboard: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/drift",
      "@esim-webhooks/core/kit",
      "@esim-webhooks/core/masking",
      "zod/mini",
    ],
    rooms: [],
  },
  cloudflare: {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "zod/mini"],
    rooms: [],
  },
  express: { imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit"], rooms: [] },
  fastify: {
    imports: ["@esim-webhooks/core", "@esim-webhooks/core/kit", "fastify", "fastify-plugin"],
    rooms: [],
  },
  nest: {
    imports: [
      "@esim-webhooks/core",
      "@esim-webhooks/core/health",
      "@esim-webhooks/core/kit",
      "@esim-webhooks/core/run",
      "@nestjs/common",
      "@nestjs/core",
      "reflect-metadata",
    ],
    rooms: [],
  },
  lambda: {
    imports: [
      "@aws-sdk/client-dynamodb",
      "@aws-sdk/client-secrets-manager",
      "@aws-sdk/client-sqs",
      "@aws-sdk/client-ssm",
      "@esim-webhooks/core",
      "@esim-webhooks/core/kit",
      "zod/mini",
    ],
    rooms: ["base", "dynamo-store", "keys"],
  },
};

const importPattern =
  /^(?:import|export)\b[^;]*?\bfrom ["']([^"']+)["'];|\bimport\(["']([^"']+)["']\)|^import ["']([^"']+)["'];/gm;

/** Files in a package or folder that is not named above. */
export function homelessFiles(sources: Sources): string[] {
  return [...sources.keys()].filter((file) => roomNumber(file) === -1);
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
  if (packageNameOf(target) !== packageNameOf(file)) return false;
  const room = roomNumber(target);
  return room !== -1 && room <= roomNumber(file);
}

function targetOf(file: string, specifier: string): string {
  return new URL(specifier, `file:///${file}`).pathname.slice(1);
}

/** Its place in the order of rooms; -1 when it is in none. */
function roomNumber(file: string): number {
  if (!Object.hasOwn(packages, packageNameOf(file))) return -1;
  const { rooms } = packageOf(file);
  const [, , , ...path] = file.split("/"); // packages/<name>/src/…
  return path.length === 1 ? rooms.length : rooms.indexOf(path.slice(0, -1).join("/"));
}

function packageOf(file: string): Package {
  return packages[packageNameOf(file)] ?? { imports: [], rooms: [] };
}

function packageNameOf(file: string): string {
  return file.split("/")[1] ?? "";
}
