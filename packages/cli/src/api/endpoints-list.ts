import type { WebhookEndpoint } from "@esim-webhooks/client";
import type { CliContext } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import { ago, count } from "../terminal/quantities.ts";
import type { ListFlags } from "./flags.ts";
import { type ListView, printList } from "./print-list.ts";
import { shownRecord, shownText } from "./shown-record.ts";
import { withApi } from "./with-api.ts";

export async function listEndpoints(this: CliContext, flags: ListFlags): Promise<void> {
  await withApi(this, flags, (api) => printList(this, flags, api.webhooks.list({ limit: 100 }), view));
}

const view: ListView<WebhookEndpoint> = {
  nouns: "endpoints",
  none: "There are no endpoints.",
  columns: [
    { title: "REFERENCE" },
    { title: "ACTIVE" },
    { title: "TYPES", align: "right" },
    { title: "CREATED", align: "right" },
    { title: "URL", cuts: true },
  ],
  row: ({ webhookEndpointReference, active, eventTypes, createdAt, url }, reveal) => [
    printable(webhookEndpointReference),
    active ? "yes" : { text: "no", tone: "warn" },
    count(eventTypes.length),
    ago(new Date(createdAt), Date.now()),
    printable(shownText(url, reveal)),
  ],
  json: shownRecord,
};
