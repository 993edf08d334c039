import { randomUUID } from "node:crypto";
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  type GetSecretValueCommandInput,
  type GetSecretValueCommandOutput,
  PutSecretValueCommand,
  type PutSecretValueCommandOutput,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from "@aws-sdk/client-secrets-manager";
import type { KeyStore } from "@esim-webhooks/core";
import { parseOptions } from "@esim-webhooks/core/engine";
import { keyRecordsIn } from "@esim-webhooks/core/internal";
import { type AwsClient, callOf, checkName, refusedBy } from "../base/aws.ts";
import { type AwsKeysOptions, awsKeysShape, cachedKeys, keysGuard } from "./cached-keys.ts";

export type { AwsClient } from "../base/aws.ts";
export type { AwsKeysOptions } from "./cached-keys.ts";

/** The label of a version that is written and not current yet. Only one version of a secret can have it, so no label is left over. */
const pendingLabel = "esim-webhooks-pending";
const current = "AWSCURRENT";

/**
 * Keeps signing keys in a secret of AWS Secrets Manager, as JSON in the form of a key file. Also reads a secret that is a plain `whsec_…`:
 * `lambdaHandler(handlers, { secret: secretsManagerKeys("esim/webhook-secret") })`. `rotateSecret` and `ensureEndpoint` can change it.
 *
 * A write first adds a version with the label `esim-webhooks-pending`, then moves AWSCURRENT to it from the version that was read. Secrets
 * Manager refuses the move if another process was first. Receivers need the right `secretsmanager:GetSecretValue`. Processes that write
 * also need `PutSecretValue` and `UpdateSecretVersionStage`, and `CreateSecret` if the secret does not exist yet.
 *
 * Throws `invalid_option`. Rejects with `missing_rights`, `store_unavailable`, `invalid_secret` and, for `load`, `missing_secret`.
 * @param secretId the name of the secret, or its ARN
 * @param options the client of AWS, its time limit, and how long loaded keys are cached
 */
export function secretsManagerKeys(secretId: string, options: AwsKeysOptions = {}): KeyStore {
  const { client, cacheMs, timeoutMs } = parseOptions("secretsManagerKeys", awsKeysShape, options);
  checkName(secretId, "secretsManagerKeys", "name of a secret", "Pass its name or ARN.");
  const place = `The secret ${secretId} of Secrets Manager`;
  const secrets: AwsClient = client ?? new SecretsManagerClient({});
  const guard = keysGuard(`secret ${secretId}`, timeoutMs, (error) =>
    refusedBy(
      error,
      `the secret ${secretId}`,
      "secretsmanager:GetSecretValue, and to write PutSecretValue and UpdateSecretVersionStage",
    ),
  );

  const call = callOf(secrets);

  function get(signal: AbortSignal, version: Partial<GetSecretValueCommandInput> = {}) {
    const command = new GetSecretValueCommand({ SecretId: secretId, ...version });
    return call<GetSecretValueCommandOutput>(command, signal, "ResourceNotFoundException");
  }

  async function write(text: string, version: string | undefined, signal: AbortSignal): Promise<boolean> {
    if ((await get(signal))?.VersionId !== version) return false;
    const id = randomUUID(); // of the new version: a repeated attempt makes no second one
    const put = await call<PutSecretValueCommandOutput>(
      new PutSecretValueCommand({
        SecretId: secretId,
        ClientRequestToken: id,
        SecretString: text,
        VersionStages: [pendingLabel],
      }),
      signal,
      "ResourceNotFoundException",
    );
    if (put === undefined) {
      if (version !== undefined) return false; // deleted meanwhile
      const create = new CreateSecretCommand({ Name: secretId, ClientRequestToken: id, SecretString: text });
      return (await call(create, signal, "ResourceExistsException")) !== undefined;
    }
    if (put.VersionStages?.includes(current)) return true; // the first version of a secret is the current one immediately
    const move = new UpdateSecretVersionStageCommand({
      SecretId: secretId,
      VersionStage: current,
      MoveToVersionId: id,
      ...(version !== undefined && { RemoveFromVersionId: version }),
    });
    if (await call(move, signal, "InvalidParameterException", "InvalidRequestException")) return true;
    // a first attempt, whose answer was lost, may have moved the label
    const { VersionStages = [] } = (await get(signal, { VersionId: id })) ?? {};
    return VersionStages.includes(current) || VersionStages.includes("AWSPREVIOUS");
  }

  return cachedKeys(place, cacheMs, {
    async read() {
      const found = await guard.run((signal) => get(signal));
      if (found?.VersionId === undefined) return undefined;
      const { record } = keyRecordsIn(place).read(found.SecretString ?? "");
      return { record, version: found.VersionId };
    },
    write: (record, version) => guard.run((signal) => write(JSON.stringify(record), version, signal)),
  });
}
