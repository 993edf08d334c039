import {
  type ApiClient,
  createClient,
  createLimiter,
  type Limiter,
  type WebhookDelivery,
} from "@esim-webhooks/client";
import { sampleData } from "@esim-webhooks/core/testing";
import { shortPauses } from "./fast-clock.ts";

export interface MadeDelivery {
  readonly id?: string;
  readonly occurredMs: number;
  readonly sentMs?: number;
  readonly status?: string;
  readonly nextRetryMs?: number;
}

let ids = 0;

/** A delivery as the service lists it: delivered at once, unless said otherwise. */
export function made(delivery: MadeDelivery): WebhookDelivery {
  const {
    id = `made-${++ids}`,
    occurredMs,
    sentMs = occurredMs,
    status = "delivered",
    nextRetryMs,
  } = delivery;
  const sentAt = new Date(sentMs).toISOString();
  return {
    eventId: id,
    eventType: "esim.enabled",
    payload: {
      type: "esim.enabled",
      timestamp: new Date(occurredMs).toISOString(),
      data: sampleData("esim.enabled"),
    },
    responseBody: null,
    status,
    attemptNumber: 1,
    httpStatus: status === "delivered" ? 202 : 503,
    nextRetryAt: nextRetryMs === undefined ? null : new Date(nextRetryMs).toISOString(),
    sentAt,
    deliveredAt: status === "delivered" ? sentAt : null,
  };
}

export interface ServedListing {
  readonly api: ApiClient;
  readonly endpoint: string;
  /** How many pages were read. */
  pages(): number;
  /** The methods of all calls except the list of endpoints, in order. */
  readonly calls: readonly string[];
  /** What the list of endpoints shows of the endpoint. */
  readonly itself: { active: boolean; eventTypes: string[]; createdAt: string };
}

/**
 * The real client on a listing that a test makes, newest first: for what the sandbox cannot show, or not that much of.
 * @param deliveries called for each page with the number of deliveries before it, so they may change between two
 * @param longestPage how many deliveries a page has at most, even if the client asks for more
 */
export function servedListing(
  deliveries: (from: number) => ArrayLike<WebhookDelivery>,
  longestPage = 100,
  limiter: Limiter = createLimiter({ calls: 1_000_000 }),
): ServedListing {
  const calls: string[] = [];
  let pages = 0;
  const itself = { active: true, eventTypes: ["esim.enabled"], createdAt: new Date(0).toISOString() };
  const api = createClient({
    baseUrl: "https://api.test/api/v3",
    clientId: "123456",
    clientSecret: "none",
    limiter,
    clock: shortPauses,
    async fetch(url, { method = "GET" }) {
      if (url.endsWith("/auth/token")) return Response.json({ access_token: "token", expires_in: 86_400 });
      if (method === "GET" && new URL(url).pathname.endsWith("/management/webhooks")) {
        return Response.json({
          data: [
            {
              webhookEndpointReference: "endpoint-1",
              url: "https://receiver.test",
              description: null,
              updatedAt: itself.createdAt,
              ...itself,
            },
          ],
          pagination: { limit: 100, hasMore: false, nextCursor: null },
        });
      }
      calls.push(method);
      if (method !== "GET") return Response.json({ data: {} });
      pages += 1;
      const query = new URL(url).searchParams;
      const limit = Math.min(Number(query.get("limit") ?? 20), longestPage);
      const from = Number(query.get("cursor") ?? 0);
      const all = deliveries(from);
      const data = Array.from(
        { length: Math.max(0, Math.min(limit, all.length - from)) },
        (_, index) => all[from + index],
      );
      const hasMore = from + limit < all.length;
      return Response.json({
        data,
        pagination: { limit, hasMore, nextCursor: hasMore ? String(from + limit) : null },
      });
    },
  });
  return { api, endpoint: "endpoint-1", pages: () => pages, calls, itself };
}
