import { createHmac } from "node:crypto";
import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";
import type { HttpEvent } from "@esim-webhooks/lambda";

const key = Buffer.from((process.env["ESIM_WEBHOOK_SECRET"] ?? "").slice("whsec_".length), "base64");

/** A hand-written function: checks the signature, and has Powertools handle an id once. It validates nothing, and has no time limit. */
export const handler = makeIdempotent(
  async ({ headers, body }: HttpEvent) => {
    const signed = `${headers?.["webhook-id"]}.${headers?.["webhook-timestamp"]}.${body}`;
    const signature = createHmac("sha256", key).update(signed).digest("base64");
    if (!headers?.["webhook-signature"]?.includes(signature)) return { statusCode: 401, body: "{}" };
    JSON.parse(body ?? "");
    return { statusCode: 200, body: "{}" };
  },
  {
    persistenceStore: new DynamoDBPersistenceLayer({ tableName: process.env["TABLE"] ?? "" }),
    config: new IdempotencyConfig({ eventKeyJmesPath: 'headers."webhook-id"' }),
  },
);
