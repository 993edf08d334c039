import { keySuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type AwsKeysServer, startAwsKeys } from "./aws-keys-server.ts";
import openSecrets from "./open-secrets-manager-keys.ts";
import openParameters from "./open-ssm-keys.ts";

let server: AwsKeysServer;
beforeAll(async () => {
  server = await startAwsKeys();
  process.env["AWS_KEYS_URL"] = server.url;
});
afterAll(() => server.close());

keySuite("secretsManagerKeys", { open: openSecrets }, { describe, it });
keySuite("ssmKeys", { open: openParameters }, { describe, it });
