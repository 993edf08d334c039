import type { InboxAdmin, KeyStore, Logger, StateStore } from "@esim-webhooks/core";

/** The part of a client of the partner API that the view of endpoints reads. */
export interface EndpointClient {
  /** The client's calls for endpoints. */
  readonly webhooks: {
    /** All endpoints of the client. */
    list(): AsyncIterable<ClientEndpoint>;
    /** The deliveries of an endpoint, newest first. `limit`: the most that one call fetches. */
    deliveries(reference: string, options: { readonly limit: number }): AsyncIterable<ClientDelivery>;
  };
}

/** A delivery as the partner API lists it. */
export interface ClientDelivery {
  /** The webhook-id. */
  readonly eventId: string | null;
  /** The type of the event. */
  readonly eventType: string | null;
  /** `pending`, `sending`, `delivered`, `failed` or `exhausted`. */
  readonly status: string | null;
  /** How many attempts were made. */
  readonly attemptNumber: number | null;
  /** The status that the endpoint answered. Null: no attempt reached it. */
  readonly httpStatus: number | null;
  /** When the next retry is due: a date-time. Null: there is none. */
  readonly nextRetryAt: string | null;
  /** When the latest attempt was sent: a date-time. */
  readonly sentAt: string | null;
}

/** An endpoint as the partner API lists it. */
export interface ClientEndpoint {
  /** Identifies the endpoint. */
  readonly webhookEndpointReference: string;
  /** Where events are posted to. */
  readonly url: string;
  /** Whether events are delivered. */
  readonly active: boolean;
  /** The event types that it gets. */
  readonly eventTypes: readonly string[];
}

/** The parts that the calls of the page work with. */
export interface Settings {
  readonly inbox: InboxAdmin;
  readonly title: string | undefined;
  readonly color: string | undefined;
  readonly catalog: { readonly types: readonly string[] };
  readonly keys: Pick<KeyStore, "read"> | undefined;
  readonly client: EndpointClient | undefined;
  /** The handlers, of which only the names are read. */
  readonly handlers: Readonly<Record<string, unknown>> | undefined;
  readonly drift: Pick<StateStore, "read"> | undefined;
  readonly logger: Logger;
}

/** Who looks at the dashboard. */
export interface Visitor {
  /** An `operator` can change the inbox and reveal payloads; a `viewer` sees payloads masked, and changes nothing. */
  readonly role: "viewer" | "operator";
  /** The person's name, for logs and for other operators: 1 to 200 characters. */
  readonly name: string;
}
