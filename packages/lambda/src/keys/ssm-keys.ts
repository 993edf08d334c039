import { randomUUID } from "node:crypto";
import {
  GetParameterCommand,
  type GetParameterCommandOutput,
  GetParameterHistoryCommand,
  type GetParameterHistoryCommandOutput,
  PutParameterCommand,
  type PutParameterCommandOutput,
  SSMClient,
} from "@aws-sdk/client-ssm";
import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { type OptionsShape, parseOptions } from "@esim-webhooks/core/engine";
import { keyRecordsIn, type SettingsOf } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { type AwsClient, callOf, checkName, refusedBy } from "../base/aws.ts";
import { type AwsKeysOptions, awsKeysShape, cachedKeys, keysGuard } from "./cached-keys.ts";

export type { AwsClient } from "../base/aws.ts";
export type { AwsKeysOptions } from "./cached-keys.ts";

export interface SsmKeysOptions extends AwsKeysOptions {
  /** The KMS key with which `write` encrypts. Default: the account's own key for Parameter Store, also if the parameter had another one. */
  keyId?: string;
}

const shape: OptionsShape<SettingsOf<SsmKeysOptions, "client" | "keyId">> = {
  ...awsKeysShape,
  keyId: z.optional(z.string()),
};

/** A version of the parameter. */
interface Written {
  readonly version: number;
  readonly record: KeyRecord;
  /** Absent in a value that another program has written. */
  readonly write?: {
    /** The version that it replaces. */
    readonly replaced: number;
    /** The last version when it was written, which may be one that is ignored. */
    readonly last: number;
    readonly id: string;
  };
}

/**
 * Keeps signing keys in a SecureString parameter of AWS Systems Manager, as JSON in the form of a key file; a plain `whsec_…` is read, too:
 * `lambdaHandler(handlers, { secret: ssmKeys("/esim/webhook-secret") })`. `rotateSecret` and `ensureEndpoint` can change it.
 *
 * Parameter Store has no conditional write, but gives each write the next version. So each record names the version that it replaces, and
 * is ignored if that version was replaced before: read the parameter with this store only. Receivers need `ssm:GetParameter`
 * and `ssm:GetParameterHistory`; processes that write also need `ssm:PutParameter`. The limit is that of a parameter: 4 KB, some 20 keys.
 *
 * Throws `invalid_option`. Rejects with `missing_rights`, `store_unavailable`, `invalid_secret` and, for `load`, `missing_secret`.
 * @param name the name of the parameter
 * @param options as for `secretsManagerKeys`, and how the parameter is encrypted
 */
export function ssmKeys(name: string, options: SsmKeysOptions = {}): KeyStore {
  const { client, cacheMs, timeoutMs, keyId } = parseOptions("ssmKeys", shape, options);
  checkName(name, "ssmKeys", "name of a parameter", "Pass its name.");
  const place = `The parameter ${name} of Systems Manager`;
  const ssm: AwsClient = client ?? new SSMClient({});
  const guard = keysGuard(`parameter ${name}`, timeoutMs, (error) =>
    refusedBy(
      error,
      `the parameter ${name}`,
      "ssm:GetParameter and ssm:GetParameterHistory, and to write ssm:PutParameter",
    ),
  );

  const call = callOf(ssm);

  function written({
    Value = "",
    Version = 0,
  }: {
    Value?: string | undefined;
    Version?: number | undefined;
  }): Written {
    const { record, own } = keyRecordsIn(place).read(Value, "write");
    return {
      version: Version,
      record,
      ...(own !== undefined && { write: own as NonNullable<Written["write"]> }),
    };
  }

  /** Reads the valid version, and the number of the last one. The last version is nearly always valid, and its own text shows that. */
  async function read(signal: AbortSignal): Promise<(Written & { readonly last: number }) | undefined> {
    const command = new GetParameterCommand({ Name: name, WithDecryption: true });
    const found = await call<GetParameterCommandOutput>(command, signal, "ParameterNotFound");
    if (found?.Parameter === undefined) return undefined;
    const last = written(found.Parameter);
    const latest = followsLast(last) ? last : (await valid(signal)).at(-1);
    if (latest === undefined) throw unclear(name);
    return { ...latest, last: last.version };
  }

  /** The writes that took effect, of the versions that Parameter Store still has, which are 100 or fewer. */
  async function valid(signal: AbortSignal): Promise<Written[]> {
    const found: Written[] = [];
    let NextToken: string | undefined;
    do {
      const command = new GetParameterHistoryCommand({
        Name: name,
        WithDecryption: true,
        MaxResults: 50,
        ...(NextToken !== undefined && { NextToken }),
      });
      const page = await call<GetParameterHistoryCommandOutput>(command, signal, "ParameterNotFound");
      for (const one of page?.Parameters ?? []) {
        const next = written(one);
        if (followsLast(next) || next.write?.replaced === found.at(-1)?.version) found.push(next);
      }
      NextToken = page?.NextToken;
    } while (NextToken !== undefined);
    return found;
  }

  async function write(
    record: KeyRecord,
    version: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const now = await read(signal);
    if (now?.version.toString() !== version) return false;
    const own = { replaced: now?.version ?? 0, last: now?.last ?? 0, id: randomUUID() };
    const command = new PutParameterCommand({
      Name: name,
      Value: JSON.stringify({ ...record, write: own }),
      Type: "SecureString",
      Overwrite: version !== undefined,
      ...(keyId !== undefined && { KeyId: keyId }),
    });
    const refusals = ["ParameterAlreadyExists", "TooManyUpdates"];
    const put = await call<PutParameterCommandOutput>(command, signal, ...refusals);
    if (put?.Version === own.last + 1) return true;
    // another write came between, or the first of two attempts of this one
    return (await valid(signal)).some(({ write }) => write?.id === own.id);
  }

  return cachedKeys(place, cacheMs, {
    async read() {
      const found = await guard.run(read);
      return found && { record: found.record, version: String(found.version) };
    },
    write: (record, version) => guard.run((signal) => write(record, version, signal)),
  });
}

/** Whether no other write came between the writer's read and this version: the writer then knew which earlier version was valid. True for another program's value. */
function followsLast({ version, write }: Written): boolean {
  return write === undefined || write.last === version - 1;
}

function unclear(name: string): WebhookError {
  return new WebhookError(
    "store_unavailable",
    `The history of the parameter ${name} does not show which of its versions is valid.`,
    "Store the current secrets again, as plain text, separated by spaces.",
  );
}
