import {
  apiFlags,
  createFlags,
  deleteFlags,
  deliveriesFlags,
  endpointsFlags,
  readFlags,
} from "../api/flags.ts";
import { command, group, help } from "../flags/command.ts";

const reference = { placeholder: "reference", brief: "The endpoint's webhookEndpointReference" };

const client = command({
  load: async () => (await import("../api/show.ts")).client,
  flags: readFlags,
  docs: help("Show the client", "Shows the client that the credentials belong to.", [
    "esim-webhooks api client",
    "esim-webhooks api client --json | jq .limits.maxProfiles",
  ]),
});

const variants = command({
  load: async () => (await import("../api/show.ts")).variants,
  flags: readFlags,
  docs: help(
    "List the eSIMs to order",
    "Lists the eSIM variants that the client may order, and their stock.",
    ["esim-webhooks api variants", "esim-webhooks api variants --json | jq -r .esimVariant"],
  ),
});

const eventTypes = command({
  load: async () => (await import("../api/show.ts")).eventTypes,
  flags: apiFlags,
  docs: help("List the event types", "Lists the event types that an endpoint can subscribe to.", [
    "esim-webhooks api event-types",
  ]),
});

const listEndpoints = command({
  load: async () => (await import("../api/show.ts")).listEndpoints,
  flags: endpointsFlags,
  docs: help("List endpoints", "Lists the client's endpoints. --json prints one per line.", [
    "esim-webhooks api endpoints list",
    "esim-webhooks api endpoints list --json | jq -r .webhookEndpointReference",
  ]),
});

const createEndpoint = command({
  load: async () => (await import("../api/endpoints-create.ts")).createEndpoint,
  flags: createFlags,
  args: [{ placeholder: "url", brief: "Where events are posted to" }],
  docs: help(
    "Register an endpoint",
    [
      "Registers an endpoint. The service shows its signing secret once: it is written to the new file of --key-file (mode",
      "0600), or added to the key file of the config. A file that is there is never overwritten.",
    ].join("\n"),
    [
      "esim-webhooks api endpoints create https://shop.example/webhooks --key-file esim.key",
      "esim-webhooks api endpoints create https://shop.example/webhooks --types 'esim.lifecycle.*,esim.faulted'",
      "esim-webhooks api endpoints create http://127.0.0.1:3000/webhooks --print-secret",
    ],
  ),
});

const deleteEndpoint = command({
  load: async () => (await import("../api/endpoints-delete.ts")).deleteEndpoint,
  flags: deleteFlags,
  args: [reference],
  docs: help(
    "Delete an endpoint",
    [
      "Deletes an endpoint: what waits for it is not sent, and its deliveries can no longer be listed.",
      "Asks first on a terminal; elsewhere it needs --yes.",
    ].join("\n"),
    [
      "esim-webhooks api endpoints delete WHE6JJ1OFDTD",
      "esim-webhooks api endpoints delete WHE6JJ1OFDTD --yes",
    ],
  ),
});

const endpoints = group({
  routes: { list: listEndpoints, create: createEndpoint, delete: deleteEndpoint },
  docs: help(
    "List, register and delete endpoints",
    "Commands for the endpoints that the service sends events to.",
    [
      "esim-webhooks api endpoints list",
      "esim-webhooks api endpoints create https://shop.example/webhooks --key-file esim.key",
    ],
  ),
});

const deliveries = command({
  load: async () => (await import("../api/show.ts")).deliveries,
  flags: deliveriesFlags,
  args: [reference],
  docs: help(
    "List the deliveries of an endpoint",
    [
      "Lists what was sent to an endpoint in the last 7 days, newest first. The API has no filter: --status looks",
      "through all deliveries. --json prints one per line, with its event; personal data is masked.",
    ].join("\n"),
    [
      "esim-webhooks api deliveries WHE6JJ1OFDTD",
      "esim-webhooks api deliveries WHE6JJ1OFDTD --status failed,exhausted --all",
      "esim-webhooks api deliveries WHE6JJ1OFDTD --all --json | jq -r .eventId",
    ],
  ),
});

export const api = group({
  routes: { client, variants, "event-types": eventTypes, endpoints, deliveries },
  docs: help(
    "Call the partner API",
    [
      "Looks at the partner API, and registers endpoints. Needs ESIM_API_URL, ESIM_CLIENT_ID and",
      "ESIM_CLIENT_SECRET, or the same as api in the config; esim-webhooks sandbox prints some to try it out.",
    ].join("\n"),
    [
      "esim-webhooks api client",
      "esim-webhooks api endpoints list",
      "esim-webhooks api deliveries WHE6JJ1OFDTD --status failed,exhausted",
    ],
  ),
});
