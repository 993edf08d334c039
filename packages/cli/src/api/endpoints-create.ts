import type { ApiClient, EndpointWithSecret } from "@esim-webhooks/client";
import type { FileKeySource } from "@esim-webhooks/core/key-file";
import type { CliContext } from "../program/context.ts";
import { explainedCreate } from "../program/explained.ts";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import { endpointUrl } from "./endpoint-url.ts";
import type { CreateFlags } from "./flags.ts";
import { existingKeyFile, newKeyFile, type SecretPlace } from "./secret-place.ts";
import { shownRecord } from "./shown-record.ts";
import { subscribedTypes } from "./subscribed-types.ts";
import { withApi } from "./with-api.ts";

/** Registers an endpoint. Its secret has a place before: the service shows it once. */
export async function createEndpoint(this: CliContext, flags: CreateFlags, url: string): Promise<void> {
  endpointUrl(url);
  await withApi(this, flags, async (api, setUp) => {
    const place = await placeOf(flags, setUp);
    const stop = stopSignal(this.output);
    const made = await register(api, flags, url, stop.signal)
      .then((endpoint) => keep(place, endpoint))
      .catch(async (error: unknown) => {
        await place?.abandon(); // when it was stopped, too
        throw error;
      })
      .finally(stop.release);
    print(this, flags, made, place);
  });
}

/** Undefined when the secret is printed. Throws `invalid_usage` when there is no place for it. */
async function placeOf(
  { keyFile, printSecret }: CreateFlags,
  { secret, secretFrom }: SetUp,
): Promise<SecretPlace | undefined> {
  if (keyFile !== undefined && printSecret) {
    throw new ProgramError(
      "invalid_usage",
      "--key-file and --print-secret are two places for the secret.",
      "Remove one of them.",
    );
  }
  if (printSecret) return undefined;
  if (keyFile !== undefined) return newKeyFile(keyFile);
  const configured = (secret as Partial<FileKeySource> | undefined)?.keyFile;
  if (configured !== undefined) return existingKeyFile(configured);
  const unset = secretFrom === "ESIM_WEBHOOK_SECRET" ? " and unset ESIM_WEBHOOK_SECRET" : "";
  throw new ProgramError(
    "invalid_usage",
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
    throw new ProgramError(
      "secret_not_kept",
      `The endpoint ${reference} is registered, but its signing secret could not be written to ${place.file}, and nobody has it.`,
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
  const { signingSecret: key } = JSON.parse(JSON.stringify(made)) as { signingSecret: string }; // its fingerprint
  if (json) {
    const secret = place === undefined ? { signingSecret } : { keyFile: place.file };
    output.json({ ...(shownRecord({ ...made }, false) as object), key, ...secret });
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
