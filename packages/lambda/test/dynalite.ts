import { fileURLToPath } from "node:url";
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { freePort, keepServer, serverFolder, type TestServer } from "../../../test/servers/kept-server.ts";

/** Starts a DynamoDB of its own, with the table of the store. It keeps its data through a SIGKILL. */
export async function startDynalite(): Promise<TestServer> {
  const folder = await serverFolder("dynalite");
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const cli = fileURLToPath(import.meta.resolve("dynalite/cli.js"));
  const server = await keepServer("dynalite", folder, {
    command: process.execPath,
    args: [cli, "--host", "127.0.0.1", "--port", port, "--path", folder, "--createTableMs", "0"],
    url,
    stopSignal: "SIGKILL",
    probe: async () => void (await fetch(url)),
  });
  const client = dynamoClient(url);
  await client.send(
    new CreateTableCommand({
      TableName: table,
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
  await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 60 }, { TableName: table }); // until then it answers that there is none
  client.destroy();
  return server;
}

export const table = "esim-webhooks";

export function dynamoClient(endpoint: string): DynamoDBClient {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  return new DynamoDBClient({ endpoint, region: "us-east-1", credentials });
}
