import type { AddressInfo } from "node:net";
import type { EndpointLookup } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";

/** The secrets of the brands; in production, a table. */
const secrets = JSON.parse(process.env["SECRETS"] ?? "{}") as Record<string, string>;

/** `/acme` → the endpoint of Acme. Null for a path without a brand. */
const endpoints: EndpointLookup = async (path) => {
  const brand = path.slice(1);
  const secret = Object.hasOwn(secrets, brand) ? secrets[brand] : undefined;
  return secret === undefined ? null : { source: brand, secret };
};

const esimWebhooks = webhookRouter(
  { "esim.faulted": ({ data }, { source }) => console.log(`faulted: ${data.reason}, of ${source}`) },
  { endpoints }, // POST /webhooks/acme
);
const app = express().use(esimWebhooks);

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
