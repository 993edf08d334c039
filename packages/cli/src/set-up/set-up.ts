import type { Catalog, Handlers, Secret } from "@esim-webhooks/core";
import type { SetUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";
import { type AnyConfig, loadConfig } from "./config-file.ts";

/** Where events are kept when the config does not say. */
export type Place = { readonly url: string } | { readonly dataDir: string };

/** What a command works with: flags, before the environment, before the config file, before defaults. */
export interface SetUp {
  /** The config file, if there is one. */
  readonly file: string | undefined;
  readonly config: AnyConfig;
  /** Undefined: none was given; receivers and keyrings say so. */
  readonly secret: Secret | undefined;
  readonly catalog: Catalog<unknown> | undefined;
  readonly handlers: Handlers<unknown> | undefined;
  readonly source: string;
  readonly place: Place;
}

/** Throws `invalid_config` or `invalid_usage`. */
export async function readSetUp({ process }: CliContext, flags: SetUpFlags): Promise<SetUp> {
  const { file, config } = await loadConfig(flags.config);
  if (flags.dataDir !== undefined && config.target !== undefined) {
    throw new ProgramError(
      "invalid_usage",
      `--data-dir is for the default inbox, and ${file} has a target.`,
      "Leave one of them out.",
    );
  }
  const { ESIM_WEBHOOK_SECRET, DATABASE_URL, ESIM_WEBHOOKS_DATA_DIR } = process.env; // an empty one is not set
  const dataDir = flags.dataDir ?? (ESIM_WEBHOOKS_DATA_DIR || ".esim-webhooks");
  return {
    file,
    config,
    secret: ESIM_WEBHOOK_SECRET || config.secret,
    catalog: config.catalog,
    handlers: config.handlers as Handlers<unknown> | undefined,
    source: config.source ?? "default",
    place: flags.dataDir === undefined && DATABASE_URL ? { url: DATABASE_URL } : { dataDir },
  };
}

/** The variable `PORT`, as most places that run servers set it. Throws `invalid_usage`. */
export function portOf(text: string | undefined): number | undefined {
  if (!text) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new ProgramError(
    "invalid_usage",
    "PORT is no port.",
    "Set it to a number of 0 to 65535, or unset it.",
  );
}
