// npm start: runs a receiver, registers it at the sandbox as soon as one runs, and prints how to send it an event.
import type { AddressInfo } from "node:net";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";
import { registeredSecrets, sandboxUrl } from "./sandbox.ts";
import { sharedSecret } from "./shared-secret.ts";

const ownSecret = process.env["ESIM_WEBHOOK_SECRET"] || undefined;
let registered: string | undefined;
/** The receiver asks again when a signature fits no key: the sandbox may have started since. */
const keys = {
  load: async () => (registered === undefined ? [sharedSecret()] : [registered, sharedSecret()]),
};

/** Logs a line for each delivery whose handler logs none: `duplicate  esim.faulted  msg_1`. */
const log: Logger["info"] = ({ outcome, type, id, reason, issues, err }, message) => {
  if (outcome === "processed") return;
  const texts = [outcome ?? message, type, id, reason ?? issues ?? err].filter((text) => text !== undefined);
  console.log(texts.join("  "));
};

function router(): ReturnType<typeof webhookRouter> {
  try {
    return webhookRouter(
      { "*": ({ type, data }) => console.log(`handled ${type} with ${Object.keys(data).join(", ")}`) },
      { secret: ownSecret ?? keys, logger: { debug: log, info: log, warn: log, error: log } },
    );
  } catch (error) {
    if (!WebhookError.is(error)) throw error;
    console.error(`ESIM_WEBHOOK_SECRET: ${error.message}`);
    process.exit(2);
  }
}

/** Registers at the sandbox, now and whenever one starts. */
async function register(url: string): Promise<void> {
  for await (registered of registeredSecrets(url)) {
    if (registered === undefined) {
      console.log(
        `No sandbox at ${sandboxUrl}: start it with npm run sandbox, or set SANDBOX_URL to another. I register as soon as it is there.`,
      );
      printSend(url);
    } else {
      console.log(`Registered at the sandbox. Order an eSIM from another terminal, or on the page ${sandboxUrl}:\n
  curl -d '{}' ${sandboxUrl}/esims\n`);
    }
  }
}

function printSend(url: string, condition = ""): void {
  console.log(
    `Send it an event from another terminal${condition}:\n\n  npm run send -- esim.faulted ${url}\n`,
  );
}

const app = express();
app.use(router());
const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", async (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/webhooks`;
  console.log(`Listening at ${url}.`);
  if (ownSecret !== undefined) return printSend(url, " with the same ESIM_WEBHOOK_SECRET");
  await register(url).catch((error: Error) => {
    console.error(error.message);
    process.exit(1);
  });
});
