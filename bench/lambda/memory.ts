import { lambdaHandler } from "@esim-webhooks/lambda";

export const handler = lambdaHandler({ "*": () => {} });
