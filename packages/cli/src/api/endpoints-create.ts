import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { ApiClient, EndpointWithSecret } from "@esim-webhooks/client";
import type { KeyRecord, KeyStore } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/internal";
import { type FileKeySource, fileKeySource } from "@esim-webhooks/core/key-file";
import { printable } from "@esim-webhooks/core/log-lines";
import { keysInEnvironment } from "@esim-webhooks/endpoint";
import { matchingTypes } from "../flags/types-flag.ts";
import { explainedCreate } from "../program/call-error.ts";
import type { CliContext, CliProcess } from "../program/context.ts";
import { errorCodeOf } from "../program/exit-code.ts";
import { invalidUsage, programError } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import { endpointUrl } from "../send/receiver-url.ts";
import { type SetUp, secretVariableOf } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import type { CreateFlags } from "./flags.ts";
import { withApiToWrite } from "./open-client.ts";
import { maskedRecord } from "./shown-record.ts";

/** Registers an endpoint, once there is a place for its secret: the service shows the secret only once. */
export async function createEndpoint(this: CliContext, flags: CreateFlags, url: string): Promise<void> {
  endpointUrl(url);
  await withApiToWrite(this, flags, async (api, setUp) => {
    const place = await keyStorePlace(this.process, flags, setUp);
    const stop = stopSignal(this);
    const made = await register(api, flags, url, stop.signal)
      .then((endpoint) => keep(place, endpoint))
      .catch(async (error: unknown) => {
        await place?.abandon(); // also if a signal has stopped it
        throw error;
      })
      .finally(stop.release);
    print(this, flags, made, place);
  });
}

/** The place for the secret; undefined if it is printed. Throws `invalid_usage` without a place, and as `existingKeyFile`. */
async function keyStorePlace(
  { cwd }: CliProcess,
  { keyFile, printSecret }: CreateFlags,
  { secret, secretFrom, environment }: SetUp,
): Promise<SecretPlace | undefined> {
  if (keyFile !== undefined && printSecret) {
    throw invalidUsage("--key-file and --print-secret are two places for the secret.", "Remove one of them.");
  }
  if (printSecret) return undefined;
  const open = (path: string) => keysInEnvironment({ environment }, fileKeySource(path));
  if (keyFile !== undefined) return newKeyFile(resolve(cwd(), keyFile), keyFile, open);
  const configured = (secret as Partial<FileKeySource> | undefined)?.keyFile;
  if (configured !== undefined) return existingKeyFile(configured, open);
  const unset = secretFrom === secretVariableOf({ environment }) ? ` and unset ${secretFrom}` : "";
  throw invalidUsage(
    "The service shows an endpoint's signing secret once, and there is no place for it.",
    `Name a new file with --key-file, give the config a fileKeySource as its secret${unset}, or have it printed with --print-secret.`,
  );
}

async function register(
  api: ApiClient,
  { types = [], description }: CreateFlags,
  url: string,
  signal: AbortSignal,
): Promise<EndpointWithSecret> {
  const eventTypes = await subscribedTypes(api, types, signal);
  return api.webhooks.create({ url, eventTypes, description }, { signal }).catch((error: unknown) => {
    throw explainedCreate(error);
  });
}

async function keep(place: SecretPlace | undefined, made: EndpointWithSecret): Promise<EndpointWithSecret> {
  if (place === undefined) return made;
  try {
    await place.keep(made);
    return made;
  } catch (cause) {
    const reference = printable(made.webhookEndpointReference);
    throw programError(
      "secret_not_kept",
      `The endpoint ${reference} is registered, but its signing secret could not be written to ${place.file}, and no one has it.`,
      `Get another one with esim-webhooks rotate --endpoint ${reference} (and --secret-form if it is not written as whsec_ and base64), or run esim-webhooks api endpoints delete ${reference} and create it again.`,
      { cause },
    );
  }
}

function print(
  { output }: CliContext,
  { json }: CreateFlags,
  made: EndpointWithSecret,
  place: SecretPlace | undefined,
): void {
  const { signingSecret, webhookEndpointReference, eventTypes } = made;
  const { signingSecret: key } = JSON.parse(JSON.stringify(made)) as { signingSecret: string }; // JSON has only its fingerprint
  if (json) {
    const secret = place === undefined ? { signingSecret } : { keyFile: place.file };
    output.json({ ...(maskedRecord({ ...made }) as object), key, ...secret });
    return;
  }
  const types = eventTypes === null ? "" : ` for ${counted(eventTypes.length, "event type")}`;
  output.data(`Registered the endpoint ${printable(webhookEndpointReference)}${types}.`);
  output.data(
    place === undefined
      ? `Its signing secret is ${printable(signingSecret)}`
      : `Its signing secret (${key}) is in ${place.file}.`,
  );
}

/**
 * The event types to register: the written ones, else all. Families are replaced by their types, since the API has no wildcard.
 * Throws `invalid_usage` for a family that matches none. The service refuses any other unknown type.
 */
export async function subscribedTypes(
  api: ApiClient,
  written: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (written.length > 0 && !written.some(isFamily)) return written;
  const known = (await api.catalog.webhookEventTypes({ signal })).map(({ eventType }) => eventType);
  const types = written.length === 0 ? known : written.flatMap((type) => typesOf(type, known));
  return [...new Set(types)];
}

function typesOf(written: string, known: readonly string[]): readonly string[] {
  if (!isFamily(written)) return [written];
  const types = matchingTypes(written, known);
  if (types.length > 0) return types;
  const families = new Set(known.map((name) => name.replace(/[^.]*$/, "*")));
  throw invalidUsage(
    `--types ${printable(written)} matches no event type of the service.`,
    `${suggest(written, [...families])} esim-webhooks api event-types lists them.`,
  );
}

function isFamily(type: string): boolean {
  return type.endsWith("*");
}

/** Opens the key file at a path. */
type OpenKeys = (path: string) => KeyStore;

/** A key file that was found writable before the service makes a secret. */
export interface SecretPlace {
  /** The path as the user wrote it. */
  readonly file: string;
  /** Adds the endpoint's secret, and resolves when it is on the disk. */
  keep(made: EndpointWithSecret): Promise<void>;
  /** Removes the file if it was created for this secret. */
  abandon(): Promise<void>;
}

/** Creates a key file that only this user can read. Throws `invalid_usage` if it exists already or cannot be written, and `store_full`. */
export async function newKeyFile(
  path: string,
  file: string = path,
  open: OpenKeys = fileKeySource,
): Promise<SecretPlace> {
  const keys = open(path);
  if (!(await writable({ keys, file }, { keys: [] }, undefined))) {
    throw invalidUsage(
      `${file} already exists, and no key file is overwritten.`,
      "Name a new file with --key-file.",
    );
  }
  return { file, keep: (made) => addSecret(keys, made), abandon: () => rm(path, { force: true }) };
}

/**
 * Checks that one more secret can be written to a key file, and creates the file if there is none. Its owner and its mode stay.
 * Throws `invalid_usage` if it cannot be written, `store_full`, and `invalid_secret` if it is no key file.
 */
export async function existingKeyFile(file: string, open: OpenKeys = fileKeySource): Promise<SecretPlace> {
  const keys = open(file);
  for (;;) {
    const stored = await keys.read();
    if (stored === undefined) return newKeyFile(file, file, open);
    // the same keys once more: this shows that the file can be written
    if (await writable({ keys, file }, stored.record, stored.version)) {
      return { file, keep: (made) => addSecret(keys, made), abandon: async () => {} };
    }
  }
}

async function writable(
  { keys, file }: { readonly keys: KeyStore; readonly file: string },
  record: KeyRecord,
  version: string | undefined,
): Promise<boolean> {
  try {
    return await keys.write(record, version);
  } catch (cause) {
    if (errorCodeOf(cause) === "store_full") throw cause;
    throw invalidUsage(
      `${file} cannot be written, so nothing was registered.`,
      "Name another file with --key-file, or correct the permissions.",
      { cause },
    );
  }
}

async function addSecret(
  keyStore: KeyStore,
  { signingSecret: secret, webhookEndpointReference: endpoint }: EndpointWithSecret,
): Promise<void> {
  for (;;) {
    const stored = await keyStore.read();
    const { keys, ...rest } = stored?.record ?? { keys: [] };
    const record = { ...rest, keys: [...keys, { secret, endpoint }] };
    if (await keyStore.write(record, stored?.version)) return;
  }
}
