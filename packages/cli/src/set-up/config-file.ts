import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type {
  ApiEnvironment,
  Catalog,
  DedupeStore,
  EndpointLookup,
  Handlers,
  Lifecycle,
  Secret,
  StateStore,
  WebhookError,
} from "@esim-webhooks/core";
import { createDeadline, type OptionsShape, parseOptions, withMethods } from "@esim-webhooks/core/engine";
import { sourceOption } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import type { CliContext, CliProcess } from "../program/context.ts";
import { programError } from "../program/program-error.ts";
import type { Config, ConfigTarget } from "./config.ts";

/** A config whose event types are unknown here. */
export type AnyConfig = Config<unknown, unknown>;

export interface LoadedConfig {
  /** Undefined when there is none. */
  readonly file: string | undefined;
  readonly config: AnyConfig;
}

const names = ["ts", "mts", "js", "mjs"].map((extension) => `esim-webhooks.config.${extension}`);

type Shape = { [Name in keyof AnyConfig]-?: AnyConfig[Name] | undefined };

const shape: OptionsShape<Shape> = {
  environment: z.optional(z.enum(["production", "test"])),
  secret: z.optional(z.custom<Secret>()), // checked by the receiver
  catalog: z.optional(withMethods<Catalog<unknown>>("parse", "check")),
  target: z.optional(withMethods<ConfigTarget<unknown>>("put")),
  handlers: z.optional(
    z.custom<Handlers<unknown>>(isObject, "expected an object of functions by event type"),
  ),
  store: z.optional(withMethods<DedupeStore>("claim", "extend", "complete", "release")),
  state: z.optional(withMethods<StateStore>("read", "write")),
  source: z.optional(sourceOption),
  endpoints: z.optional(
    z.custom<EndpointLookup>((value) => typeof value === "function", "expected a function of the path"),
  ),
  path: z.optional(z.string().check(z.startsWith("/", "expected a path that begins with /"))),
  port: z.optional(z.int().check(z.gte(0), z.lte(65_535))),
  host: z.optional(z.string().check(z.minLength(1))),
  receiver: z.optional(z.custom<NonNullable<AnyConfig["receiver"]>>(isObject, "expected an object")), // checked by the receiver
  worker: z.optional(z.custom<NonNullable<AnyConfig["worker"]>>(isObject, "expected an object")), // checked by the worker
  api: z.optional(z.custom<NonNullable<AnyConfig["api"]>>(isObject, "expected an object")), // checked by the client
};

/**
 * Loads the named config file, else the one in the working directory, else none.
 * Throws `invalid_config` when it cannot be loaded or has an unknown or wrong option.
 */
export async function loadConfig(context: CliContext, named: string | undefined): Promise<LoadedConfig> {
  const { process } = context;
  const file = named === undefined ? findConfig(process) : resolve(process.cwd(), named);
  if (file === undefined) return { file, config: {} };
  if (!existsSync(file)) {
    throw programError("invalid_config", `There is no config file ${file}.`, "Correct --config.");
  }
  const exported = await importConfig(context, file);
  context.atEnd.push(() => closeOwn(exported));
  const config = parseConfig(file, exported);
  refuseBoth(file, config);
  return { file, config };
}

const closeMs = 5000;

/** Closes the stores of a config: a command may have ended before it closed them, and closing them twice is safe. */
async function closeOwn(exported: unknown): Promise<void> {
  const { target, store, state } = Object(exported) as Record<string, Partial<Lifecycle> | undefined>;
  const closed = [target, store, state].map(async (own) => own?.close?.());
  await createDeadline(closeMs).before(Promise.allSettled(closed));
}

const whereOthersGo =
  "Options of createReceiver go into receiver: { … }, those of createWorker into worker, those of the client into api.";

function parseConfig(file: string, exported: unknown): AnyConfig {
  try {
    return parseOptions(file, shape, exported, "Correct it in that file.") as AnyConfig;
  } catch (error) {
    const { problem, remedy } = error as WebhookError;
    const inside = remedy.startsWith("There are: ") ? ` ${whereOthersGo}` : "";
    throw programError("invalid_config", `${file}: ${problem}`, `${remedy}${inside}`);
  }
}

/** Throws `invalid_config` for a config with options that belong to one environment of the API, and not to this one. */
export function refuseOtherEnvironment({ file, config }: LoadedConfig, environment: ApiEnvironment): void {
  const { environment: own = "production", api = {} } = config;
  const given: Readonly<Record<string, unknown>> = { ...config, ...api };
  const name = ofOneEnvironment.find((each) => given[each] !== undefined);
  if (own === environment || name === undefined) return;
  throw programError(
    "invalid_config",
    `${file} is for ${own}: it has ${name}, which may not be used in the environment ${environment}.`,
    `Name a config of its own with --config, with environment: "${environment}". If this one chooses by the variable, add environment: process.env.ESIM_ENVIRONMENT.`,
  );
}

const ofOneEnvironment = [
  ...["secret", "source", "endpoints", "target", "store", "state"],
  ...["baseUrl", "clientId", "clientSecret", "exchange"],
];

/** Throws `invalid_config` for options that exclude each other. */
function refuseBoth(file: string, { target, store, endpoints, secret, source }: AnyConfig): void {
  if (target !== undefined && store !== undefined) {
    throw programError(
      "invalid_config",
      `${file} has both a store and a target: a target deduplicates by itself.`,
      "Remove the store; or remove the target, to run the handlers inline.",
    );
  }
  const other = secret !== undefined ? "secret" : source !== undefined ? "source" : undefined;
  if (endpoints === undefined || other === undefined) return;
  throw programError(
    "invalid_config",
    `${file} has both endpoints and a ${other}: each endpoint has its own.`,
    `Remove the ${other}, and return { source, secret } from endpoints.`,
  );
}

/** The config files in the working directory. If there are several, a command needs --config. */
export function configFiles({ cwd }: Pick<CliProcess, "cwd">): readonly string[] {
  return names.map((name) => resolve(cwd(), name)).filter(existsSync);
}

function findConfig(process: CliProcess): string | undefined {
  const [first, second] = configFiles(process);
  if (second === undefined) return first;
  throw programError(
    "invalid_config",
    `There are two config files, ${first} and ${second}.`,
    "Remove one of them, or name one with --config.",
  );
}

async function importConfig(context: CliContext, file: string): Promise<unknown> {
  let loaded: { default?: unknown };
  try {
    loaded = (await context.importConfig(pathToFileURL(file).href)) as { default?: unknown };
  } catch (cause) {
    throw loadError(file, cause, context.process);
  }
  if (loaded.default !== undefined) return loaded.default;
  throw programError(
    "invalid_config",
    `${file} has no default export.`,
    "Write: export default defineConfig({ … }).",
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The error for a config file that cannot be loaded: why, at which line of which file, and how to fix it. */
function loadError(file: string, cause: unknown, process: CliProcess): Error {
  const message = (cause instanceof Error ? cause.message : String(cause)).trim().replace(/\.?$/, ".");
  const at = lineOf(file, cause, process);
  const problem = `${file} cannot be loaded: ${message}${at === undefined ? "" : ` (${at})`}`;
  return programError("invalid_config", problem, remedyFor(message), { cause });
}

/** The file and the line, such as `/srv/app/handlers.ts:12`, if they are known. */
function lineOf(file: string, cause: unknown, process: CliProcess): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const named = placeIn(cause.stack ?? "");
  if (named !== undefined || !(cause instanceof SyntaxError)) return named;
  // Node.js prints the place of a syntax error in JavaScript only when the error ends a process
  return placeIn(spawnSync(process.execPath, ["--check", file], { encoding: "utf8" }).stderr);
}

/** The first place that a stack names: in its first line, as for syntax errors, or in a call. */
function placeIn(stack: string): string | undefined {
  const [, url, urlLine] = /(file:\/\/\S+?):(\d+)/.exec(stack) ?? [];
  const [, path, line] = /^((?:\/|[A-Za-z]:\\).*):(\d+)$/m.exec(stack) ?? [];
  if (path !== undefined) return `${path}:${line}`;
  return url === undefined ? undefined : `${fileURLToPath(url)}:${urlLine}`;
}

function remedyFor(message: string): string {
  if (/Unexpected token 'export'|import statement outside|Unknown file extension/.test(message)) {
    return 'Name it .mts or .mjs, or set "type": "module" in package.json.';
  }
  if (/Cannot find (?:package|module)/.test(message))
    return "Install what it imports, or correct the import.";
  if (message.startsWith("ENOENT")) return "Create the file that it reads, or correct its name.";
  return "Correct the file.";
}
