import {
  type ApiClient,
  ApiError,
  type EndpointWithSecret,
  type WebhookDelivery,
  type WebhookEndpoint,
} from "@esim-webhooks/client";
import type { StateStore } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { type RotateOptions, reconcile, rotateSecret } from "@esim-webhooks/endpoint";
import { type MemoryKeys, memoryKeys } from "../ensure/service.ts";
import { knownInbox, memoryState } from "../reconcile/memory-state.ts";

/** A clock on which only waits take time, and none takes any of the machine's. */
export function skippingClock() {
  let nowMs = Date.now();
  let waits = 0;
  return {
    now: () => nowMs,
    async wait(ms: number, signal?: AbortSignal) {
      signal?.throwIfAborted();
      nowMs += ms;
      waits += 1;
      if (waits > 10_000) throw new Error("This waits without an end.");
    },
  };
}

export interface MemoryService {
  readonly clock: ReturnType<typeof skippingClock>;
  readonly api: ApiClient;
  /** The API, with other operations. */
  withCalls(webhooks: Partial<ApiClient["webhooks"]>): ApiClient;
  /** The endpoints. The first one is `endpoint`. */
  readonly endpoints: WebhookEndpoint[];
  /** Changes what the service lists of the endpoint. */
  changeListed(fields: Partial<WebhookEndpoint>): void;
  readonly endpoint: string;
  /** The deliveries that the service lists, newest first. */
  deliveries: Partial<WebhookDelivery>[];
  /** The idempotency keys of the calls that were answered, in order. */
  readonly calls: (string | undefined)[];
  /** A key store with the secret that the endpoint had first. */
  readonly keys: MemoryKeys;
  /** The secret that the endpoint has. */
  secret(): string;
  /** Rotates, without the check of receivers unless the options ask for it. */
  rotate(options?: Partial<RotateOptions>, by?: ApiClient): ReturnType<typeof rotateSecret>;
}

/** A service with an endpoint, and a key store, all in memory: for rotations that need no receiver. */
export function memoryService(): MemoryService {
  const clock = skippingClock();
  const endpoints: WebhookEndpoint[] = [];
  const secrets = new Map<string, string>();
  const answers = new Map<string | undefined, EndpointWithSecret>();
  const calls: (string | undefined)[] = [];
  const time = () => new Date(clock.now()).toISOString();
  const listed = <Item>(items: () => readonly Item[], signal?: AbortSignal) => {
    async function* pages() {
      signal?.throwIfAborted();
      yield { data: items(), pagination: { limit: 100, hasMore: false, nextCursor: null } };
    }
    return {
      page: async () => ({ data: items() }),
      pages,
      async *[Symbol.asyncIterator]() {
        for await (const { data } of pages()) yield* data;
      },
    };
  };
  const found = (reference: string): number => {
    const index = endpoints.findIndex((each) => each.webhookEndpointReference === reference);
    if (index >= 0) return index;
    throw new ApiError("not_found", "the service answered 404.", "Check the references.");
  };
  const change = (reference: string, fields: Partial<WebhookEndpoint>): WebhookEndpoint => {
    const index = found(reference);
    const changed = { ...(endpoints[index] as WebhookEndpoint), ...fields };
    endpoints[index] = changed;
    return changed;
  };
  const made = (reference: string): EndpointWithSecret => {
    const signingSecret = newSecret();
    secrets.set(reference, signingSecret);
    return { ...change(reference, { updatedAt: time() }), signingSecret };
  };
  const webhooks = {
    list: ({ signal }: { signal?: AbortSignal } = {}) => listed(() => endpoints, signal),
    deliveries: (reference: string, { signal }: { signal?: AbortSignal } = {}) =>
      listed(() => {
        found(reference);
        return service.deliveries as WebhookDelivery[];
      }, signal),
    async create(given: Pick<WebhookEndpoint, "url" | "eventTypes">) {
      const webhookEndpointReference = `endpoint-${endpoints.length + 1}`;
      const createdAt = time();
      const fields = { description: null, active: true, createdAt, updatedAt: createdAt };
      endpoints.push({ ...fields, ...given, webhookEndpointReference });
      return made(webhookEndpointReference);
    },
    async rotateSecret(
      reference: string,
      { idempotencyKey, signal }: { idempotencyKey?: string; signal?: AbortSignal } = {},
    ) {
      signal?.throwIfAborted();
      calls.push(idempotencyKey);
      const answer = answers.get(idempotencyKey) ?? made(reference);
      if (idempotencyKey !== undefined) answers.set(idempotencyKey, answer);
      return answer;
    },
    delete: async (reference: string) => endpoints.splice(found(reference), 1)[0],
  } as unknown as ApiClient["webhooks"];
  const catalog = { webhookEventTypes: async () => [{ eventType: "esim.enabled" }] };
  const api = { environment: "production", webhooks, catalog } as unknown as ApiClient;
  const createdAt = new Date(clock.now() - 60 * 60_000).toISOString();
  const endpoint = "endpoint-1";
  endpoints.push({
    ...{ webhookEndpointReference: endpoint, url: "http://127.0.0.1:9/webhooks", description: null },
    ...{ eventTypes: ["esim.enabled"], active: true, createdAt, updatedAt: createdAt },
  });
  secrets.set(endpoint, newSecret());
  const keys = memoryKeys({ keys: [secrets.get(endpoint) as string] });
  const service: MemoryService = {
    ...{ clock, api, endpoints, endpoint, calls, keys, deliveries: [] },
    changeListed: (fields) => void change(endpoint, fields),
    withCalls: (others) => ({ ...api, webhooks: { ...webhooks, ...others } }),
    secret: () => secrets.get(endpoint) as string,
    rotate: (options, by = api) =>
      rotateSecret(by, endpoint, keys, { clock, checkReceivers: false, ...options }) as never,
  };
  return service;
}

/** A state store with a watermark: everything up to now is settled. */
export async function reconciledState({
  api,
  endpoint,
}: {
  readonly api: ApiClient;
  readonly endpoint: string;
}): Promise<StateStore> {
  const state = memoryState();
  await reconcile(api, endpoint, knownInbox() as never, { state, since: new Date() });
  return state;
}
