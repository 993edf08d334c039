import type { InboxAdmin } from "@esim-webhooks/core";
import { refused } from "./failure.ts";
import { nameOf } from "./rows.ts";
import type { ClientDelivery, ClientEndpoint, EndpointClient, Settings } from "./settings.ts";
import type { DeliveryView, EndpointsView, EndpointView, EventName } from "./views.ts";

/** The endpoints of the client, with their last deliveries. Throws `service_unavailable`. */
export async function endpoints(
  settings: Settings,
  { refresh }: { readonly refresh?: true },
): Promise<EndpointsView> {
  const { client, inbox } = settings;
  if (client === undefined) return { readAt: new Date().toISOString(), endpoints: [] };
  const { readAt, listed } = await answersOf(client, refresh === true ? 0 : keptMs, settings);
  const views = listed.map(async ({ endpoint, deliveries }) => ({
    ...comparedWithHandlers(settings, endpoint),
    ...(await comparedWithInbox(inbox, deliveries)),
  }));
  return { readAt: readAt.toISOString(), endpoints: await Promise.all(views) };
}

/** The answer of the partner API. */
interface Answers {
  readonly readAt: Date;
  readonly listed: readonly {
    readonly endpoint: ClientEndpoint;
    readonly deliveries: readonly ClientDelivery[];
  }[];
}

interface Read {
  readonly startedMs: number;
  readonly answers: Promise<Answers>;
  isPending: boolean;
}

/** The last read of each client. The partner API limits calls, and each open page asks. */
const reads = new WeakMap<EndpointClient, Read>();
const keptMs = 30_000;

async function answersOf(client: EndpointClient, maxAgeMs: number, { logger }: Settings): Promise<Answers> {
  const last = reads.get(client);
  if (last !== undefined && (last.isPending || Date.now() - last.startedMs < maxAgeMs)) return last.answers;
  const read: Read = { startedMs: Date.now(), answers: ask(client), isPending: true };
  reads.set(client, read);
  try {
    return await read.answers;
  } catch (err) {
    reads.delete(client);
    logger.warn({ err, code: "service_unavailable" }, "The dashboard could not read the endpoints.");
    throw err;
  } finally {
    read.isPending = false;
  }
}

const mostEndpoints = 20;
const mostCompared = 200;
const deliveriesOfPage = 100;

async function ask(client: EndpointClient): Promise<Answers> {
  try {
    const found = await first(client.webhooks.list(), mostEndpoints);
    const listed = found.map(async (endpoint) => {
      const { webhookEndpointReference: reference } = endpoint;
      const deliveries = client.webhooks.deliveries(reference, { limit: deliveriesOfPage });
      return { endpoint, deliveries: await first(deliveries, mostCompared) };
    });
    return { listed: await Promise.all(listed), readAt: new Date() };
  } catch (err) {
    throw refused(
      "service_unavailable",
      "The partner API did not answer with the endpoints.",
      "Check the client's credentials and its network; the log of this process has the error.",
      err,
    );
  }
}

async function first<Item>(items: AsyncIterable<Item>, most: number): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length === most) break;
  }
  return found;
}

function comparedWithHandlers(
  { handlers, catalog }: Settings,
  { webhookEndpointReference: reference, url, active: isActive, eventTypes: subscribed }: ClientEndpoint,
): Pick<EndpointView, "reference" | "url" | "isActive" | "subscribed" | "unhandled" | "notSubscribed"> {
  const names = handlers && Object.keys(handlers);
  const isHandled = (type: string) => names?.some((name) => takes(name, type)) === true;
  return {
    reference,
    url: withoutQuery(url),
    isActive,
    subscribed,
    unhandled: names === undefined ? null : subscribed.filter((type) => !isHandled(type)),
    notSubscribed:
      names === undefined
        ? null
        : catalog.types.filter((type) => isHandled(type) && !subscribed.includes(type)),
  };
}

const mostShown = 20;
const mostFound = 1000;

async function comparedWithInbox(
  inbox: InboxAdmin,
  deliveries: readonly ClientDelivery[],
): Promise<Pick<EndpointView, "compared" | "missedCount" | "missed" | "deliveries">> {
  const ids = [...new Set(deliveries.flatMap(({ eventId }) => eventId ?? []))];
  const { rows } = ids.length === 0 ? { rows: [] } : await inbox.list({ ids }, { limit: mostFound });
  const found = new Map(rows.map((row) => [row.id, nameOf(row)]));
  const keepsDone = inbox.capabilities.filters === undefined; // BullMQ removes jobs once they are done
  const missed = deliveries.filter(
    ({ eventId, ...delivery }) => eventId !== null && !found.has(eventId) && isOver(delivery, keepsDone),
  );
  const view = (delivery: ClientDelivery) => deliveryView(delivery, found);
  return {
    compared: deliveries.length,
    missedCount: missed.length,
    missed: missed.slice(0, mostShown).map(view),
    deliveries: deliveries.slice(0, mostShown).map(view),
  };
}

/**
 * Whether the service will not send a delivery again, as `reconcile` decides it. A `delivered` one only if the inbox keeps done events:
 * otherwise it may be absent from the inbox because it is done.
 */
function isOver({ status, nextRetryAt }: Omit<ClientDelivery, "eventId">, keepsDone: boolean): boolean {
  if (status === "pending" || status === "sending") return false;
  if (status === "delivered") return keepsDone;
  return status !== "failed" || nextRetryAt === null;
}

function deliveryView(delivery: ClientDelivery, found: ReadonlyMap<string, EventName>): DeliveryView {
  const { eventId: id, eventType: type, status, attemptNumber: attempt, httpStatus, sentAt } = delivery;
  const event = id === null ? null : (found.get(id) ?? null);
  return { id, type, status, attempt, httpStatus, at: sentAt, event };
}

/** Whether a handler of this name takes the type. */
function takes(name: string, type: string): boolean {
  return name.endsWith("*") ? type.startsWith(name.slice(0, -1)) : name === type;
}

/** A query or a password may be a secret. */
function withoutQuery(text: string): string {
  if (!URL.canParse(text)) return "";
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname}`;
}
