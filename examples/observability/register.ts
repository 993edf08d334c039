// Registers the URL of the receivers at the service, once, and stores its signing key where they read it. Prints its reference.
import { createClient } from "@esim-webhooks/client";
import { ensureEndpoint } from "@esim-webhooks/endpoint";
import { inbox, keys, state } from "./inbox.ts";

const url = process.argv[2] ?? "http://127.0.0.1:3000/webhooks";
const { endpoint } = await ensureEndpoint(createClient(), { url, eventTypes: ["*"], keyStore: keys });
console.log(endpoint.webhookEndpointReference);
await inbox.close();
await state.close();
