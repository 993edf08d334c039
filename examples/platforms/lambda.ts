// for a function URL, and for an HTTP API of API Gateway (payload format 2.0). Set the function's timeout to 30 s.
import { createReceiver } from "@esim-webhooks/core";
import type { LambdaFunctionURLHandler } from "aws-lambda";

// Lambda runs many processes: pass { store }, such as redisStore or postgresStore, so that they share the handled ids
const receiver = createReceiver({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

export const handler: LambdaFunctionURLHandler = async (event) => {
  const { method } = event.requestContext.http;
  const bytes = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
  const { status, headers, body } = await receiver.receive({ method, headers: event.headers, body: bytes });
  return { statusCode: status, headers, body };
};
