import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ApiEnvironment, Catalog, Handlers, Secret } from "@esim-webhooks/core";
import { namedEnvironment, sourceIn, variableIn } from "@esim-webhooks/core/internal";
import type { SetUpFlags } from "../flags/flag-kinds.ts";
import type { CliContext, CliProcess } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { type AnyConfig, loadConfig, refuseOtherEnvironment } from "./config-file.ts";
import type { Folder, Place } from "./place.ts";

/** The settings of a command. Flags take precedence over the environment, then the config file, then defaults. */
export interface SetUp {
  /** The config file, if there is one. */
  readonly file: string | undefined;
  readonly config: AnyConfig;
  /** The environment of the API. */
  readonly environment: ApiEnvironment;
  /** Undefined when there is none. Commands that need one call `requiredSecret`. */
  readonly secret: Secret | undefined;
  /** Where the secret was written: the name of a variable, or the config file. */
  readonly secretFrom: string | undefined;
  readonly catalog: Catalog<unknown> | undefined;
  readonly handlers: Handlers<unknown> | undefined;
  readonly source: string;
  readonly place: Place;
}

/** Reads flags, environment and config. Throws `invalid_config` or `invalid_usage`. */
export async function readSetUp(context: CliContext, flags: SetUpFlags): Promise<SetUp> {
  const { file, config } = await loadConfig(context, flags.config);
  if (flags.dataDir !== undefined && config.target !== undefined) {
    throw invalidUsage(
      `--data-dir is for the default inbox, but ${file} has a target.`,
      "Remove one of them.",
    );
  }
  const { env } = context.process;
  const environment = namedEnvironment(env) ?? config.environment ?? "production";
  refuseOtherEnvironment({ file, config }, environment);
  const secretVariable = secretVariableOf({ environment });
  const variable = env[secretVariable]?.trim(); // an empty variable counts as unset
  const { DATABASE_URL } = env;
  const folder = folderOf(context.process, flags.dataDir);
  return {
    file,
    config,
    environment,
    secret: variable || config.secret,
    secretFrom: variable ? secretVariable : file,
    catalog: config.catalog,
    handlers: config.handlers as Handlers<unknown> | undefined,
    source: config.source ?? sourceIn(environment),
    place: placeIn(environment, flags.dataDir === undefined && DATABASE_URL ? { url: DATABASE_URL } : folder),
  };
}

/** The name of the variable with the secret: production and test have one each. */
export function secretVariableOf({ environment }: Pick<SetUp, "environment">): string {
  return variableIn(environment, "ESIM_WEBHOOK_SECRET");
}

/** The default place of the environment: the test environment has its own folder in the data folder, or its own schema. */
function placeIn(environment: ApiEnvironment, place: Place): Place {
  if (!("url" in place)) return folderIn(environment, place);
  return environment === "production" ? place : { ...place, schema: "esim_webhooks_test" };
}

/** The folder of the environment's default inbox, in the data folder. */
export function folderIn(environment: ApiEnvironment, folder: Folder): Folder {
  if (environment === "production") return folder;
  return { ...folder, dataDir: join(folder.dataDir, "test"), path: join(folder.path, "test") };
}

/** The folder of the embedded inbox: --data-dir, else ESIM_WEBHOOKS_DATA_DIR, else .esim-webhooks. Throws `invalid_usage` if it is a file. */
export function folderOf(process: CliProcess, flag: string | undefined): Folder {
  const variable = process.env["ESIM_WEBHOOKS_DATA_DIR"];
  const dataDir = flag ?? (variable || ".esim-webhooks");
  const path = resolve(process.cwd(), dataDir);
  if (!existsSync(path) || !statSync(path).isFile()) return { dataDir, path, user: process.geteuid?.() };
  const named = flag !== undefined ? "--data-dir" : variable ? "ESIM_WEBHOOKS_DATA_DIR" : "The data folder";
  throw invalidUsage(
    `${named} ${dataDir} is a file, not a folder.`,
    "The file of your own sqliteInbox is named with --from for inbox commands, and as the target of a config for all others.",
  );
}

/** The variable `PORT` as a number, undefined when it is unset. Throws `invalid_usage`. */
export function portOf(text: string | undefined): number | undefined {
  if (!text) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw invalidUsage(
    `PORT is "${text}", which is not a port.`,
    "Set it to a number from 0 to 65535, or unset it.",
  );
}
