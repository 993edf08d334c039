import { SSMClient } from "@aws-sdk/client-ssm";
import type { OpenKeys } from "@esim-webhooks/conformance";
import { ssmKeys } from "@esim-webhooks/lambda/ssm";

const open: OpenKeys = (name) => {
  const client = new SSMClient({
    endpoint: process.env["AWS_KEYS_URL"] ?? "",
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  return { keys: ssmKeys(name, { client, timeoutMs: 30_000 }), close: async () => client.destroy() };
};
export default open;
