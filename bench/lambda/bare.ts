import type { HttpEvent } from "@esim-webhooks/lambda";

export const handler = async ({ body }: HttpEvent) => {
  JSON.parse(body ?? "");
  return { statusCode: 200, body: "{}" };
};
