import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import {
  type Catalog,
  type EsimEvents,
  esimCatalog,
  type Handlers,
  type KeyStore,
} from "@esim-webhooks/core";
import { type OptionsShape, parseOptions, withMethods } from "@esim-webhooks/core/engine";
import type { SettingsOf } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { endpointsOfUrl, isSameUrl } from "../base/list-endpoints.ts";
import { type ChangeOptions, changeShape, checkClient } from "../base/options.ts";
import { advance, type KeyChange, type Outcome, step } from "../change/advance.ts";
import { changeUnderWay } from "../change/change-under-way.ts";
import { keysOfEndpoint, ownerIn } from "../change/endpoint-keys.ts";
import { keysInEnvironment } from "../change/keys-in-environment.ts";
import { type KeyStoreState, readKeys } from "../change/write-record.ts";
import { type Alone, beginning, type Creation, registered, registrationIn } from "./change-records.ts";
import { type EndpointFinding, type WantedTypes, wantedTypes, wishedTypes } from "./compare-types.ts";
import { begun, type CreationRun, checkCap, createStep, type Follow, rotateStep } from "./creation-steps.ts";
import { findingsOf } from "./findings.ts";

/** The wished properties of an endpoint. */
export interface EndpointWish<Data = EsimEvents> extends ChangeOptions {
  /** Where events are posted to. */
  readonly url: string;
  /**
   * The handlers of the receiver, as `webhookRouter` takes them: the endpoint is for the event types that they take. None of them
   * is called. Required, or else `eventTypes`.
   */
  readonly handlers?: Handlers<Data, never> | undefined;
  /** The event types, families such as `esim.lifecycle.*`, or `*` for all that the service has. In place of handlers. */
  readonly eventTypes?: readonly string[] | undefined;
  /** A label, for people. Default: none. */
  readonly description?: string | undefined;
  /** Where the signing secret is kept, and where receivers read it. Keys of other endpoints stay in it. */
  readonly keyStore: KeyStore;
  /** The catalog of the receiver. Default: the eSIM events. */
  readonly catalog?: Catalog<Data> | undefined;
}

export type WithoutDefault = "handlers" | "eventTypes" | "description" | "secretForm";

/** The wish, checked. */
export type WishSettings = SettingsOf<EndpointWish<unknown>, WithoutDefault>;

export const wishShape: OptionsShape<WishSettings> = {
  ...changeShape,
  url: z.string().check(z.refine((url) => URL.canParse(url), "expected a URL")),
  handlers: z.optional(
    z.custom<Handlers<unknown, never>>((value) => typeof value === "object" && value !== null),
  ),
  eventTypes: z.optional(z.array(z.string().check(z.minLength(1))).check(z.minLength(1))),
  description: z.optional(z.string()),
  keyStore: withMethods<KeyStore>("load", "read", "write"),
  catalog: z._default(withMethods<Catalog<unknown>>("parse", "check"), esimCatalog as Catalog<unknown>),
};

/** The endpoint that `ensureEndpoint` found or made. */
export interface EnsuredEndpoint {
  /** The endpoint, as the service lists it, or as it was registered if it is not listed yet. */
  readonly endpoint: WebhookEndpoint;
  /** Whether this call registered it, or an earlier call that was interrupted. Its secret is then in the key store. */
  readonly created: boolean;
  /** The endpoint's faults. */
  readonly findings: readonly EndpointFinding[];
}

/**
 * Finds the client's endpoint for a URL, or registers one and stores its secret. Reports what is wrong with an existing endpoint, and
 * changes nothing on it: the API cannot change an endpoint.
 *
 * Each step is written to the key store before the service is called. After a kill at any moment, run this function again: it continues.
 * No second endpoint is registered, not even by several processes that run it concurrently with one key store.
 *
 * Rejects with `invalid_option`, `unknown_event_type` (an event type that the service or the catalog lacks), `endpoint_cap`,
 * `change_under_way` (a rotation or replacement must be finished before an endpoint can be registered), `invalid_secret` (the
 * secret is of another form: pass `secretForm` and call again), an `ApiError` (call again: it continues), or as the key store does.
 */
export async function ensureEndpoint<Data = EsimEvents>(
  api: Pick<ApiClient, "webhooks" | "catalog">,
  wish: EndpointWish<Data>,
): Promise<EnsuredEndpoint> {
  checkClient("ensureEndpoint", api, "webhooks", "catalog");
  const settings: WishSettings = parseOptions("ensureEndpoint", wishShape, wish);
  const wanted = wantedTypes("ensureEndpoint", settings);
  const eventTypes = await api.catalog.webhookEventTypes({ signal: settings.signal });
  const offered = eventTypes.map(({ eventType }) => eventType);
  const keyStore = keysInEnvironment(api, settings.keyStore);
  const stored = await readKeys(keyStore);
  const run = {
    ...settings,
    api,
    wanted,
    offered,
    idempotencyKeysMade: new Set<string>(),
  };
  return advance<EnsureRun, Creation<Alone>, EnsuredEndpoint>(keyStore, registration, run, stored);
}

/** The parts of a run of `ensureEndpoint`. */
interface EnsureRun extends CreationRun {
  readonly url: string;
  readonly description?: string | undefined;
  readonly wanted: WantedTypes;
  /** The event types of the service. */
  readonly offered: readonly string[];
  /** The endpoint that this run has registered, or a run before it that was interrupted. */
  created?: WebhookEndpoint;
}

const secretStored: Follow<EnsureRun, Alone, "end"> = (run, at, made) => ({
  nextStep: undefined,
  whenWritten() {
    run.created = registered(made, at);
    return undefined;
  },
});

/** The registration of an endpoint. */
export const registration: KeyChange<EnsureRun, Creation<Alone>, EnsuredEndpoint> = {
  find: ({ url }, { record }) => registrationIn(record, url),
  steps: {
    none: step(findOrBegin, { create: "the URL has no endpoint" }),
    create: step(createStep(secretStored), {
      create: "the service failed, or the hold-off is renewed",
      rotate: "the endpoint is registered, its secret is lost",
      end: "the secret is stored, or nothing was registered",
    }),
    rotate: step(rotateStep(secretStored), {
      rotate: "the secret is still not known, or the hold-off is renewed",
      end: "the secret is stored, or the endpoint was deleted",
    }),
  },
};

/** Returns the result if the URL has an endpoint. Otherwise begins its registration. */
async function findOrBegin(
  run: EnsureRun,
  _at: undefined,
  { record }: KeyStoreState,
): Promise<Outcome<"create", EnsuredEndpoint>> {
  const { api, url, description, signal, clock, wanted, offered, created } = run;
  const { change } = record;
  const { all, ofUrl } = await endpointsOfUrl(api, url, signal);
  const isIt = ({ webhookEndpointReference }: WebhookEndpoint) =>
    created === undefined || webhookEndpointReference === created.webhookEndpointReference;
  const endpoint = ofUrl.find(isIt) ?? created;
  if (endpoint !== undefined) {
    const owner = ownerIn(record, endpoint.webhookEndpointReference, all.length <= 1, clock.now());
    const hasSecret = keysOfEndpoint(record.keys, owner).length > 0;
    const others = created === undefined ? [] : all.filter((each) => !isSameUrl(each.url, url));
    const findings = findingsOf({ endpoint, ofUrl, others, hasSecret, change, wanted, offered });
    return { result: { endpoint, created: created !== undefined, findings } };
  }
  if (change !== undefined) throw changeUnderWay(change);
  checkCap(all);
  return begun(run, {
    kind: "ensure",
    url,
    eventTypes: wishedTypes(wanted, offered),
    ...(description !== undefined && { description }),
    ...beginning(all, clock.now()),
  });
}
