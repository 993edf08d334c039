import type { Catalog, EsimEvents, Handlers, KeyStore } from "@esim-webhooks/core";
import { esimCatalog } from "@esim-webhooks/core";
import { type OptionsShape, type SettingsOf, withMethods } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import { type ChangeOptions, changeShape } from "../base/options.ts";

/** What an endpoint is to be. */
export interface EndpointWish<Data = EsimEvents> extends ChangeOptions {
  /** Where events are posted to. */
  readonly url: string;
  /**
   * The handlers of the receiver, as `webhookRouter` takes them: the endpoint is for the event types that they take. Only the names
   * are read. Required, or else `eventTypes`.
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
