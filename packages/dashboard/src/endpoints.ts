import type { EndpointView } from "./contract.ts";
import { refused } from "./failure.ts";
import type { Settings } from "./settings.ts";

const mostEndpoints = 20;
const mostDeliveries = 20;

/** The endpoints of the client, with their last deliveries. Throws `service_unavailable`. */
export async function endpoints(settings: Settings): Promise<readonly EndpointView[]> {
  const { client, handlers, catalog, logger } = settings;
  if (client === undefined) return [];
  const names = handlers && Object.keys(handlers);
  const isHandled = (type: string) => names?.some((name) => takes(name, type)) === true;
  try {
    const views: Promise<EndpointView>[] = [];
    for await (const endpoint of client.webhooks.list()) {
      if (views.length === mostEndpoints) break;
      const { webhookEndpointReference: reference, url, active, eventTypes: subscribed } = endpoint;
      views.push(
        deliveriesOf(client, reference).then((deliveries) => ({
          reference,
          url: withoutQuery(url),
          isActive: active,
          subscribed,
          unhandled: names === undefined ? null : subscribed.filter((type) => !isHandled(type)),
          notSubscribed:
            names === undefined
              ? null
              : catalog.types.filter((type) => isHandled(type) && !subscribed.includes(type)),
          deliveries,
        })),
      );
    }
    return await Promise.all(views);
  } catch (err) {
    logger.warn({ err, code: "service_unavailable" }, "The dashboard could not read the endpoints.");
    throw refused(
      "service_unavailable",
      "The partner API did not answer with the endpoints.",
      "Check the client's credentials and its network; the log of this process has the error.",
      err,
    );
  }
}

async function deliveriesOf(
  client: NonNullable<Settings["client"]>,
  reference: string,
): Promise<EndpointView["deliveries"]> {
  const found: EndpointView["deliveries"][number][] = [];
  for await (const delivery of client.webhooks.deliveries(reference)) {
    const { eventId, eventType, status, attemptNumber, httpStatus, sentAt } = delivery;
    found.push({
      id: eventId ?? "",
      type: eventType ?? "",
      at: sentAt ?? null,
      attempt: attemptNumber ?? 0,
      httpStatus,
      status: status ?? "",
    });
    if (found.length === mostDeliveries) break;
  }
  return found;
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
