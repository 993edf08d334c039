import type { EsimVariant, Listing, WebhookDelivery, WebhookEndpoint } from "@esim-webhooks/client";
import { ago } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { shortened } from "@esim-webhooks/core/masking";
import type { CliContext } from "../program/context.ts";
import { count } from "../terminal/quantities.ts";
import { type Cell, type Column, table } from "../terminal/table.ts";
import { layoutFor, type Tone, unpainted } from "../terminal/text.ts";
import type { ApiFlags, DeliveriesFlags, ListFlags, ReadFlags } from "./flags.ts";
import { withApi } from "./open-client.ts";
import { maskedRecord, type Shown, shownBy } from "./shown-record.ts";

export async function client(this: CliContext, flags: ReadFlags): Promise<void> {
  const { output, process } = this;
  const shown = shownBy(flags);
  await withApi(this, flags, async (api) => {
    const found = await api.client.get();
    if (flags.json) return output.json(shown.record(found));
    const { paint = unpainted } = layoutFor(process.stdout, process.env);
    const text = (value: string) => printable(shown.text(value));
    const facts = {
      reference: text(found.clientReference),
      name: text(found.name),
      "default variant": text(found.defaultEsimVariant ?? "none: orders must name one"),
      "most profiles": count(found.limits.maxProfiles),
    };
    for (const [name, value] of Object.entries(facts))
      output.data(`${paint("faint", name.padEnd(15))}  ${value}`);
  });
}

export async function listEndpoints(this: CliContext, flags: ListFlags): Promise<void> {
  await withApi(this, flags, (api) =>
    printList(this, flags, api.webhooks.list({ limit: 100 }), endpointsView),
  );
}

const endpointsView: ListView<WebhookEndpoint> = {
  nouns: "endpoints",
  none: "There are no endpoints.",
  columns: [
    { title: "REFERENCE" },
    { title: "ACTIVE" },
    { title: "TYPES", align: "right" },
    { title: "CREATED", align: "right" },
    { title: "URL", cuts: true },
  ],
  row: ({ webhookEndpointReference, active, eventTypes, createdAt, url }, { shown, now }) => [
    printable(webhookEndpointReference),
    active ? "yes" : { text: "no", tone: "warn" },
    count(eventTypes.length),
    ago(new Date(createdAt), now),
    printable(shown.text(url)),
  ],
  json: (endpoint, shown) => shown.record(endpoint),
};

/** Lists the deliveries of an endpoint, newest first. The API has no filter, so statuses are picked here. */
export async function deliveries(this: CliContext, flags: DeliveriesFlags, reference: string): Promise<void> {
  const statuses: readonly string[] = flags.status ?? [];
  await withApi(this, flags, (api) =>
    printList(
      this,
      flags,
      api.webhooks.deliveries(reference, { limit: 100 }),
      {
        ...deliveriesView,
        none: statuses.length === 0 ? "There are no deliveries." : "No delivery matches.",
      },
      ({ status }) => statuses.length === 0 || (status !== null && statuses.includes(status)),
    ),
  );
}

const tones: Readonly<Record<string, Tone>> = {
  delivered: "good",
  failed: "warn",
  exhausted: "bad",
};

const deliveriesView: Omit<ListView<WebhookDelivery>, "none"> = {
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
  row: ({ eventId, eventType, status, attemptNumber, httpStatus, sentAt, nextRetryAt }, { now }) => {
    const tone = tones[status ?? ""];
    const when = (time: string | null) => (time === null ? "" : ago(new Date(time), now));
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
  json: (delivery, shown) => shown.delivery(delivery),
};

export async function eventTypes(this: CliContext, flags: ApiFlags): Promise<void> {
  const { output } = this;
  await withApi(this, flags, async (api) => {
    for (const type of await api.catalog.webhookEventTypes()) {
      if (flags.json) output.json(maskedRecord(type));
      else output.data(printable(type.eventType));
    }
  });
}

export async function variants(this: CliContext, flags: ReadFlags): Promise<void> {
  const { output, process } = this;
  const shown = shownBy(flags);
  await withApi(this, flags, async (api) => {
    const found = await api.catalog.esimVariants();
    if (found.length === 0) return output.note("The client may order no variant.");
    if (flags.json) for (const variant of found) output.json(shown.record(variant));
    else {
      const rows = found.map((variant) => variantRow(variant, shown));
      for (const line of table(variantColumns, rows, layoutFor(process.stdout, process.env)))
        output.data(line);
    }
  });
}

const variantColumns = [
  { title: "VARIANT" },
  { title: "DEFAULT" },
  { title: "AVAILABLE", align: "right" },
  { title: "NAME", cuts: true },
  { title: "DESCRIPTION", cuts: true },
] as const;

/** The API does not say which fields are always there. */
function variantRow(variant: EsimVariant, shown: Shown): string[] {
  const text = (value: string | null | undefined) => printable(shown.text(value ?? ""));
  return [
    text(variant.esimVariant),
    variant.default ? "yes" : "no",
    variant.inventory ? count(variant.inventory.available) : "",
    text(variant.name),
    text(variant.description),
  ];
}

/** How the items of a list are printed. */
interface ListView<Item> {
  /** In the plural, as in `There may be more endpoints`. */
  readonly nouns: string;
  /** The sentence for an empty list. */
  readonly none: string;
  readonly columns: readonly Column[];
  row(item: Item, view: { readonly shown: Shown; readonly now: number }): readonly (Cell | string)[];
  json(item: Item, shown: Shown): unknown;
}

/** After this many rows, a new table begins, with its titles. */
const tableRows = 1000;

/** Prints the items that `matches` picks: at most `--limit`, or all with `--all`. Asks for no page that it does not need. */
async function printList<Item>(
  { output, process, now }: CliContext,
  { all = false, json = false, limit, reveal = false }: ListFlags,
  listing: Listing<Item>,
  { nouns, none, columns, row, json: jsonOf }: ListView<Item>,
  matches: (item: Item) => boolean = () => true,
): Promise<void> {
  const shown = shownBy({ reveal });
  const most = all ? Number.POSITIVE_INFINITY : limit;
  const rows: (readonly (Cell | string)[])[] = [];
  const printRows = () => {
    if (rows.length === 0) return;
    for (const line of table(columns, rows.splice(0), layoutFor(process.stdout, process.env)))
      output.data(line);
  };
  let found = 0;
  let isMore = false;
  pages: for await (const { data, pagination } of listing.pages()) {
    for (const [index, item] of data.entries()) {
      if (!matches(item)) continue;
      if (json) output.json(jsonOf(item, shown));
      else if (rows.push(row(item, { shown, now: now() })) === tableRows) printRows();
      found += 1;
      if (found < most) continue;
      isMore = pagination.hasMore || index < data.length - 1;
      break pages;
    }
  }
  printRows();
  if (found === 0) output.note(none);
  if (isMore) output.note(`There may be more ${nouns}: --limit or --all shows them.`);
}
