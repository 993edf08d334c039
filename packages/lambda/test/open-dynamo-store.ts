import type { OpenStore } from "@esim-webhooks/conformance";
import { dynamoStore } from "@esim-webhooks/lambda/dynamodb";
import { dynamoClient, table } from "./dynalite.ts";

const open: OpenStore = (options) => {
  const client = dynamoClient(process.env["DYNAMO_URL"] ?? "");
  const store = dynamoStore(table, { timeoutMs: 120_000, ...options, client });
  const close = async () => {
    await store.close();
    client.destroy();
  };
  return { ...store, close };
};
export default open;
