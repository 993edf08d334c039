// Writes the API reference, one page for each import path, from the doc comments of the packages.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as typedoc from "typedoc";
import { root } from "./pages.ts";

const folder = join(import.meta.dirname, "api");

/** The description of each import path. That of a package itself is in its package.json. */
const subpaths: Readonly<Record<string, string>> = {
  "@esim-webhooks/core/drift":
    "Notices events that differ from the catalog, or from earlier events of their type.",
  "@esim-webhooks/core/explain": "Says why a signature does not match.",
  "@esim-webhooks/core/health":
    "Health, silence and trouble: probes for an orchestrator, and log lines for people.",
  "@esim-webhooks/core/key-file": "Signing keys in a file, which a rotation changes while receivers run.",
  "@esim-webhooks/core/key-state": "Signing keys in the state of a store, for several machines.",
  "@esim-webhooks/core/engine": "For authors of stores, queues and adapters.",
  "@esim-webhooks/core/internal": "What the packages of this repository share. It may change in any version.",
  "@esim-webhooks/core/log-lines":
    "Log lines as the command line prints them, for the packages of this repository. It may change in any version.",
  "@esim-webhooks/core/masking": "Removes personal data and secrets from texts and records.",
  "@esim-webhooks/core/observe": "Reports what happens to each delivery and event, without payloads.",
  "@esim-webhooks/core/run":
    "Runs a receiver, a worker or both as one process, with probes and one clean stop.",
  "@esim-webhooks/core/state":
    "Small durable states, such as how far reconcile has come, in files or in memory.",
  "@esim-webhooks/core/testing": "Makes signed deliveries and sample events, for tests of your handlers.",
  "@esim-webhooks/lambda/dynamodb": "A dedupe store in a table of DynamoDB.",
  "@esim-webhooks/lambda/secrets-manager": "Signing keys in AWS Secrets Manager.",
  "@esim-webhooks/lambda/sqs": "An inbox in a queue of Amazon SQS.",
  "@esim-webhooks/lambda/ssm": "Signing keys in the Parameter Store of AWS Systems Manager.",
  "@esim-webhooks/otel/prometheus": "Metrics at an HTTP endpoint, as Prometheus reads them.",
};

/** The start page: it also links what is public and no declaration. */
const start = `Every function and type, a page for each import path. The rest of what is public has pages of its own:

- [Error codes](../../docs/errors.md), each with what is wrong and how to fix it; and [every message](errors.md)
- [Metrics](../../docs/observing.md#metrics), with their units and labels; and [spans](../../docs/observing.md#spans) and
  [log lines](../../docs/log-lines.md)
- [Options](../../docs/options.md) of each function on one line, with their defaults
- [Event types](../../docs/events.md), and the [status of each outcome](../../docs/status-contract.md)`;

function descriptionOf(path: string): string {
  const [, name = "", subpath] = path.split("/");
  if (subpath === undefined)
    return JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")).description;
  const description = subpaths[path];
  if (description === undefined) throw new Error(`Say in site/api.ts what ${path} has.`);
  return description;
}

/** Such as `@esim-webhooks/core/testing` → its source. */
function importPaths(): ReadonlyMap<string, string> {
  const found = readdirSync(join(root, "packages")).flatMap((name) => {
    const { exports = {} } = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
    return Object.entries(exports as Record<string, Record<string, string>>).flatMap(([path, target]) => {
      const source = target["@esim-webhooks/source"];
      if (source === undefined) return [];
      return [[join("@esim-webhooks", name, path), join(root, "packages", name, source)] as const];
    });
  });
  return new Map(found.sort());
}

/** Where the page of an import path is: a folder if others begin with it, since hosts prefer a folder to a page of its name. */
export function apiUrl(path: string): string {
  const isFolder = [...importPaths().keys()].some((other) => other.startsWith(`${path}/`));
  return path === "index" ? "/api/" : `/api/${path}${isFolder ? "/" : ""}`;
}

/** The pages in the order of their names, for the sidebar. */
export function apiSidebar(): { text: string; link: string }[] {
  return [...importPaths().keys()].map((path) => ({ text: path, link: apiUrl(path) }));
}

/** The files of the reference whose pages are folders. */
export function apiRewrites(): Record<string, string> {
  const folders = apiSidebar().filter(({ link }) => link.endsWith("/"));
  return Object.fromEntries(folders.map(({ text }) => [`site/api/${text}.md`, `api/${text}/index.md`]));
}

/** Whether a warning is about a type that only the entries for authors and for this repository refer to: no caller names it. */
function hasUnnamedType(warning: string): boolean {
  return /is referenced by @esim-webhooks\/core\/(engine|internal)\./.test(warning);
}

/** Rejects if a public type refers to one that is not exported, or a doc comment links to nothing. */
export async function writeApi(): Promise<void> {
  const paths = importPaths();
  const nameOf = new Map([...paths].map(([path, source]) => [source, path]));
  const app = await typedoc.Application.bootstrapWithPlugins({
    entryPoints: [...paths.values()],
    tsconfig: join(import.meta.dirname, "tsconfig.json"),
    plugin: ["typedoc-plugin-markdown"],
    router: "module",
    outputs: [{ name: "markdown", path: folder }],
    readme: "none",
    name: "API",
    groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables", "Enumerations", "*"],
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true, // such as what errors inherit from Node.js
    skipErrorChecking: true, // `npm run check` does it, with the compiler that the project uses
    disableSources: true,
    useCustomAnchors: true,
    hidePageHeader: true,
    hideBreadcrumbs: true,
    entryFileName: "index",
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    typeAliasPropertiesFormat: "table",
    indexFormat: "table", // with the first sentence of each
    expandObjects: true,
    logLevel: "Warn",
    validation: { notExported: true, invalidLink: true, notDocumented: false, invalidPath: false },
  } as never);
  app.converter.on(typedoc.Converter.EVENT_RESOLVE_BEGIN, ({ project }: typedoc.Context) => {
    project.comment = new typedoc.Comment([{ kind: "text", text: start }]);
    for (const module of project.getChildrenByKind(typedoc.ReflectionKind.Module)) {
      const source = project.getSymbolIdFromReflection(module)?.fileName ?? "";
      module.name = nameOf.get(source) ?? module.name;
      module.comment = new typedoc.Comment([{ kind: "text", text: descriptionOf(module.name) }]);
    }
  });
  const { validationWarning } = app.logger;
  app.logger.validationWarning = (text, ...rest) => {
    if (!hasUnnamedType(text)) validationWarning.call(app.logger, text, ...rest);
  };
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc could not read the packages.");
  for (const name of readdirSync(join(root, "packages"))) {
    project.packageName = `@esim-webhooks/${name}`; // TypeDoc looks only for unexported types of this one
    app.validate(project);
  }
  if (app.logger.hasWarnings() || app.logger.hasErrors())
    throw new Error("The API reference has the faults above. Export the types, and correct the links.");
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  await app.generateOutputs(project);
}
