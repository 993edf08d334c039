// behind API Gateway, a function URL or a load balancer. Set the function's timeout to 30 s.
import { lambdaHandler } from "@esim-webhooks/lambda";
import { dynamoStore } from "@esim-webhooks/lambda/dynamodb";

// Lambda runs many processes, which share the handled ids
const store = dynamoStore(process.env["TABLE"] ?? "esim-webhooks");

export const handler = lambdaHandler(
  { "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`) },
  { store, logger: console },
);
