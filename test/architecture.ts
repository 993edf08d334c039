/** Source path (from the repository's root) → its text. */
export type Sources = ReadonlyMap<string, string>;

interface Package {
  /** The workspace packages it may import. */
  readonly imports: readonly string[];
  /** Its files in the order in which they build on one another: a file imports only from above it. */
  readonly rooms: readonly string[];
}

const packages: Readonly<Record<string, Package>> = {
  core: {
    imports: [],
    rooms: [
      "errors.ts",
      "clock.ts",
      "logger.ts",
      "options.ts",
      "deadline.ts",
      "delivery.ts",
      "event.ts",
      "secret.ts",
      "signing-key.ts",
      "keyring.ts",
      "key-source.ts",
      "loaded-keyring.ts",
      "signature.ts",
      "explain.ts",
      "catalog.ts",
      "esim-catalog.ts",
      "outcome.ts",
      "body.ts",
      "dedupe-store.ts",
      "inbox.ts",
      "memory-store.ts",
      "handler.ts",
      "dispatcher.ts",
      "reply.ts",
      "lease.ts",
      "processor.ts",
      "target.ts",
      "verifier.ts",
      "receiver.ts",
      "fetch.ts",
      "node.ts",
      "index.ts",
      "testing/samples.ts",
      "testing/signed-request.ts",
      "testing/wire.ts",
      "testing/runner.ts",
      "testing/server.ts",
      "testing/scenario.ts",
      "testing/status-contract.ts",
      "testing/bad-input.ts",
      "testing/receiver-suite.ts",
      "testing/index.ts",
    ],
  },
  express: { imports: ["core"], rooms: ["webhook-router.ts", "index.ts"] },
  fastify: { imports: ["core"], rooms: ["webhook-plugin.ts", "index.ts"] },
};

const importPattern =
  /^(?:import|export)\b[^;]*?\bfrom "([^"]+)";|\bimport\("([^"]+)"\)|^import "([^"]+)";/gm;

/** Every import that goes where it must not, as `file → import`. Empty: no cycle either, since all go upwards. */
export function forbiddenImports(sources: Sources): string[] {
  return [...sources].flatMap(([file, source]) =>
    [...source.matchAll(importPattern)]
      .map((match) => match[1] ?? match[2] ?? match[3] ?? "")
      .filter((specifier) => !isAllowed(file, specifier))
      .map((specifier) => `${file} → ${specifier}`),
  );
}

function isAllowed(file: string, specifier: string): boolean {
  const [, name = "", , ...path] = file.split("/");
  const { imports, rooms } = packages[name] ?? { imports: [], rooms: [] };
  const workspace = /^@esim-webhooks\/(.+)$/.exec(specifier);
  if (workspace !== null) return imports.includes(workspace[1] ?? "");
  if (!specifier.startsWith(".")) return true;
  // a path out of the package is in no room, and neither is a file that nobody has named above
  const target = new URL(specifier, `file:///src/${path.join("/")}`).pathname.replace("/src/", "");
  const room = rooms.indexOf(target);
  return room !== -1 && room < rooms.indexOf(path.join("/"));
}
