import { addClient } from "../../src/account/clients.ts";
import { createFaults, type Faults } from "../../src/base/faults.ts";
import type { Service } from "../../src/base/service.ts";
import { createSender, type Sender } from "../../src/sender/sender.ts";
import { type DeliveryRecord, listDeliveries } from "../../src/webhook/deliveries.ts";
import { emitEvent } from "../../src/webhook/emit.ts";
import { createEndpoint, type EndpointWithSecret } from "../../src/webhook/endpoints.ts";

export interface Sending extends AsyncDisposable {
  readonly client: string;
  readonly faults: Faults;
  readonly sender: Sender;
  /** An endpoint that is subscribed to `esim.enabled`, `esim.faulted` and `esim.assigned`. */
  register(url: string): EndpointWithSecret;
  /** Emits `esim.enabled`, or another type. Returns the ids of the deliveries. */
  emit(type?: string, data?: object): string[];
  /** Newest first. */
  list(endpoint: EndpointWithSecret): DeliveryRecord[];
}

export const esim = {
  profileReference: "4812009377150264",
  esimReference: "730155284096617302",
  iccid: "8932042000010012344",
};

/** A sender, and a client whose endpoints it serves. */
export function startSending(service: Service): Sending {
  const client = addClient(service).clientId;
  const faults = createFaults(service.random);
  const sender = createSender(service, faults);
  const eventTypes = ["esim.enabled", "esim.faulted", "esim.assigned"];
  return {
    client,
    faults,
    sender,
    register: (url) => createEndpoint(service, client, { url, eventTypes }),
    emit: (type = "esim.enabled", data = esim) => emitEvent(service, client, { type, data }),
    list: ({ webhookEndpointReference }) =>
      listDeliveries(service, client, webhookEndpointReference, { limit: 100 }).data,
    async [Symbol.asyncDispose]() {
      await sender.close();
    },
  };
}
