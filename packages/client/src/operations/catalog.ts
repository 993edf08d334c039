import * as z from "zod/mini";
import type { Caller, CallOptions } from "./caller.ts";
import { dataOf, ifThere } from "./data-of.ts";

/**
 * A kind of eSIM that the client may order. The API does not say which fields are always there.
 * @experimental
 */
export interface EsimVariant {
  /** The name that an order uses. */
  readonly esimVariant?: string | null | undefined;
  /** Its public name, for people. */
  readonly name?: string | null | undefined;
  /** A description for people. */
  readonly description?: string | null | undefined;
  /** Whether orders that name no variant get this one. */
  readonly default?: boolean | null | undefined;
  /** Absent if the client may not see the stock. */
  readonly inventory?:
    | {
        /** How many can be ordered. */
        readonly available: number;
      }
    | null
    | undefined;
}

/**
 * An event type of the service.
 * @experimental
 */
export interface WebhookEventType {
  /** The name that an endpoint subscribes to. */
  readonly eventType: string;
}

/** The products that the service offers to this client. */
export interface EsimCatalog {
  /**
   * The variants that the client may order.
   * @experimental
   */
  esimVariants(options?: CallOptions): Promise<readonly EsimVariant[]>;
  /**
   * Every event type that an endpoint can get.
   * @experimental
   */
  webhookEventTypes(options?: CallOptions): Promise<readonly WebhookEventType[]>;
}

const text = ifThere(z.string());

const variants: z.ZodMiniType<readonly EsimVariant[]> = z.array(
  z.looseObject({
    esimVariant: text,
    name: text,
    description: text,
    default: ifThere(z.boolean()),
    inventory: ifThere(z.looseObject({ available: z.number() })),
  }),
);
const eventTypes: z.ZodMiniType<readonly WebhookEventType[]> = z.array(
  z.looseObject({ eventType: z.string() }),
);

export function catalog(caller: Caller): EsimCatalog {
  return {
    esimVariants: (options) =>
      caller.call(
        { name: "catalog.esimVariants", method: "GET", path: "/catalog/esim-variants" },
        options,
        dataOf(variants),
      ),
    webhookEventTypes: (options) =>
      caller.call(
        { name: "catalog.webhookEventTypes", method: "GET", path: "/catalog/webhook-event-types" },
        options,
        dataOf(eventTypes),
      ),
  };
}
