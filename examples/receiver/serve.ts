// npm start: runs a receiver, registers it at the sandbox if one runs, and prints how to send it an event.
import type { AddressInfo } from "node:net";
import { WebhookError } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";
import { registeredSecret, sandboxUrl } from "./sandbox.ts";

const ownSecret = process.env["ESIM_WEBHOOK_SECRET"] || undefined;

function router(secret: string): ReturnType<typeof webhookRouter> {
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
const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", async (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/webhooks`;
  const registered = ownSecret === undefined ? await registeredSecret(url) : undefined;
  const secret = ownSecret ?? registered ?? newSecret();
  app.use(router(secret));
  const environment = ownSecret === undefined ? `ESIM_WEBHOOK_SECRET=${secret} ` : ""; // a secret for this run only
  console.log(`Listening at ${url}.`);
  if (registered === undefined) {
    console.log(
      `Send it an event from another terminal:\n\n  ${environment}npm run send -- esim.faulted ${url}\n`,
    );
  } else {
    console.log(`Registered at the sandbox. Order an eSIM from another terminal, or on the page ${sandboxUrl}:\n
  curl -d '{}' ${sandboxUrl}/esims\n`);
  }
});
