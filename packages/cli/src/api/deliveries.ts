import type { WebhookDelivery } from "@esim-webhooks/client";
import { shortened } from "../masking/shortened.ts";
import type { CliContext } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import type { Tone } from "../terminal/paint.ts";
import { ago, count } from "../terminal/quantities.ts";
import type { DeliveriesFlags } from "./flags.ts";
import { type ListView, printList } from "./print-list.ts";
import { shownDelivery } from "./shown-record.ts";
import { withApi } from "./with-api.ts";

/** Lists the deliveries of an endpoint, newest first. The API has no filter, so statuses are picked here. */
export async function deliveries(this: CliContext, flags: DeliveriesFlags, reference: string): Promise<void> {
  const statuses = flags.status ?? [];
  await withApi(this, flags, (api) =>
    printList(
      this,
      flags,
      api.webhooks.deliveries(reference, { limit: 100 }),
      { ...view, none: statuses.length === 0 ? "There are no deliveries." : "No delivery matches." },
      ({ status }) => statuses.length === 0 || (status !== null && statuses.includes(status)),
    ),
  );
}

const tones: Readonly<Record<string, Tone>> = {
  delivered: "good",
  failed: "warn",
  exhausted: "bad",
};

const view: Omit<ListView<WebhookDelivery>, "none"> = {
  nouns: "deliveries",
  columns: [
    { title: "ID" },
    { title: "TYPE", cuts: true },
    { title: "STATUS" },
    { title: "TRIES", align: "right" },
    { title: "HTTP", align: "right" },
    { title: "SENT", align: "right" },
    { title: "NEXT", align: "right" },
  ],
  row: ({ eventId, eventType, status, attemptNumber, httpStatus, sentAt, nextRetryAt }) => {
    const tone = tones[status ?? ""];
    const when = (time: string | null) => (time === null ? "" : ago(new Date(time), Date.now()));
    return [
      printable(shortened(eventId ?? "")),
      printable(shortened(eventType ?? "")),
      { text: printable(shortened(status ?? "")), ...(tone && { tone }) },
      attemptNumber === null ? "" : count(attemptNumber),
      httpStatus === null ? "" : String(httpStatus),
      when(sentAt),
      when(nextRetryAt),
    ];
  },
  json: shownDelivery,
};
