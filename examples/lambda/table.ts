import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";

await new DynamoDBClient().send(
  new CreateTableCommand({
    TableName: process.env["TABLE"] ?? "esim-webhooks",
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  }),
);
