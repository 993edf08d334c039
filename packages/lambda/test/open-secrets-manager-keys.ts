import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { OpenKeys } from "@esim-webhooks/conformance";
import { secretsManagerKeys } from "@esim-webhooks/lambda/secrets-manager";

const open: OpenKeys = (name) => {
  const client = new SecretsManagerClient({
    endpoint: process.env["AWS_KEYS_URL"] ?? "",
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  return {
    keys: secretsManagerKeys(name, { client, timeoutMs: 120_000 }),
    close: async () => client.destroy(),
  };
};
export default open;
