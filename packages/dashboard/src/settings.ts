import type { InboxAdmin, KeyStore, Logger } from "@esim-webhooks/core";

/** The part of a client of the partner API that the view of endpoints reads. */
export interface EndpointClient {
  readonly webhooks: {
    list(): AsyncIterable<ClientEndpoint>;
    deliveries(reference: string, options: { readonly limit: number }): AsyncIterable<ClientDelivery>;
  };
}

/** A delivery as the partner API lists it. */
export interface ClientDelivery {
  readonly eventId: string | null;
  readonly eventType: string | null;
  readonly status: string | null;
  readonly attemptNumber: number | null;
  readonly httpStatus: number | null;
  readonly nextRetryAt: string | null;
  readonly sentAt: string | null;
}

export interface ClientEndpoint {
  readonly webhookEndpointReference: string;
  readonly url: string;
  readonly active: boolean;
  readonly eventTypes: readonly string[];
}

/** What the calls of the page work with. */
export interface Settings {
  readonly inbox: InboxAdmin;
  readonly title: string | undefined;
  readonly color: string | undefined;
  readonly catalog: { readonly types: readonly string[] };
  readonly keys: Pick<KeyStore, "read"> | undefined;
  readonly client: EndpointClient | undefined;
  /** Of which only the names are read. */
  readonly handlers: Readonly<Record<string, unknown>> | undefined;
  readonly logger: Logger;
}

/** Who looks at the dashboard. */
export interface Visitor {
  readonly role: "viewer" | "operator";
  /** Who it is, for logs and for other operators: 1 to 200 characters. */
  readonly name: string;
}
