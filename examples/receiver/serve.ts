// npm start: runs a receiver, and prints how to send it an event.
import type { AddressInfo } from "node:net";
import { WebhookError } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";

const ownSecret = process.env["ESIM_WEBHOOK_SECRET"] || undefined;
const secret = ownSecret ?? newSecret();

function router(): ReturnType<typeof webhookRouter> {
  try {
    return webhookRouter(
      { "*": ({ type, data }) => console.log(`handled ${type} with ${Object.keys(data).join(", ")}`) },
      { secret, logger: console },
    );
  } catch (error) {
    if (!WebhookError.is(error)) throw error;
    console.error(`ESIM_WEBHOOK_SECRET: ${error.message}`);
    process.exit(2);
  }
}

const app = express();
app.use(router());

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/webhooks`;
  const environment = ownSecret === undefined ? `ESIM_WEBHOOK_SECRET=${secret} ` : ""; // a secret for this run only
  console.log(`Listening at ${url}. Send it an event from another terminal:

  ${environment}npm run send -- esim.faulted ${url}
`);
});
