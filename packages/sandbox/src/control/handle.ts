import * as z from "zod";
import { addClient, type Credentials, type NewClient } from "../account/clients.ts";
import { setStock } from "../account/variants.ts";
import type { FaultSettings } from "../base/fault.ts";
import type { Faults } from "../base/faults.ts";
import { type EsimOrder, orderEsim } from "../lifecycle/order-esim.ts";
import { type Dump, dump } from "../webhook/dump.ts";
import type { NewEvent } from "../webhook/emit.ts";
import { addEventType, retireEventType } from "../webhook/event-types.ts";
import { type Replay, replay } from "../webhook/replay.ts";
import { addFault, dropNextAnswer } from "./add-fault.ts";
import type { Advance } from "./advance.ts";
import { chosenClient, emitAny, setAnyActive } from "./any-client.ts";
import { type EsimHandle, esimHandle } from "./esim-handle.ts";
import {
  checked,
  clientField,
  dumpChoice,
  endpointChange,
  esimOrder,
  newClient,
  newEvent,
  newEventType,
  replayChoice,
  stock,
} from "./input.ts";
import type { Parts } from "./parts.ts";
import { reset } from "./state.ts";

/** The client that an operation is for. */
export interface ForClient {
  /** Default: the client that every sandbox has. */
  readonly clientReference?: string | undefined;
}

/**
 * The operations of devices, networks, operators and support, for the program that started the sandbox. Each operation is done when
 * its promise resolves, and its events are then being sent; `settled` waits for them. What the state does not allow rejects
 * with `Refused`.
 */
export interface Handle {
  /** Orders an eSIM, as `POST /esims` does. */
  orderEsim(order?: EsimOrder & ForClient): Promise<EsimHandle>;
  /** Resolves to the handle of an eSIM, such as one that was ordered through the API. */
  esim(esimReference: string): Promise<EsimHandle>;
  /**
   * Emits an event of any type of the catalog to the endpoints that have subscribed to it. Resolves to the ids of the deliveries.
   * A new type has to be added first, with `addEventType`.
   */
  emit(event: NewEvent & ForClient): Promise<string[]>;

  /**
   * Moves a manual clock by a duration: "8h", "15h51m30s" (ms, s, m, h, d) or a number of ms. Resolves when all attempts that
   * became due have ended, with an answer or an error. Rejects with `Refused` if the clock goes by itself.
   */
  readonly advance: Advance;
  /** Resolves when all attempts that are due now have ended, with an answer or an error. */
  settled(): Promise<void>;

  /** The deliberate faults. docs/sandbox.md lists the kinds. */
  readonly faults: Pick<Faults, "clear" | "list"> & {
    /** Throws `Refused("invalid")`, also for a call or an event type that does not exist. */
    add(fault: FaultSettings): void;
    /** The next call of this name is done, and its answer dropped: `"POST /esims"`. Throws `Refused("invalid")`. */
    dropNextAnswer(call: string): void;
  };

  /** Sets an endpoint active or inactive: the API only shows this. */
  setEndpointActive(webhookEndpointReference: string, active: boolean): Promise<void>;
  /** Adds an event type to the catalog, or brings back a retired one. */
  addEventType(eventType: string): Promise<void>;
  /** Takes an event type out of the catalog. Endpoints that have subscribed to it keep the subscription, but get no more events of it. */
  retireEventType(eventType: string): Promise<void>;
  /** Adds another client, with credentials of its own. */
  addClient(client?: NewClient): Promise<Credentials>;
  /** Sets how many eSIMs of a variant can be ordered; null: any number. */
  setStock(esimVariant: string, available: number | null, client?: ForClient): Promise<void>;

  /** Asks support to send events again. Resolves to the ids of the deliveries. */
  replay(choice?: Replay & ForClient): Promise<string[]>;
  /** Asks support for a dump of deliveries: NDJSON, as `importDeliveries` reads it. */
  dump(choice?: Dump & ForClient): AsyncIterable<Uint8Array>;

  /** Resets the state to that of a new sandbox. The first client's credentials and tokens stay valid, and the clock is not set back. */
  reset(): Promise<void>;
}

export function createHandle(parts: Parts, advance: Advance): Handle {
  const { service, faults, sender, changes } = parts;
  const { clear, list } = faults;
  function taken<Schema extends z.ZodType>(method: string, schema: Schema, argument: unknown) {
    return checked(argument, schema, `argument of ${method}`);
  }
  /** Returns the client that an operation is for, and the other fields. */
  function forClient<Fields extends ForClient>({ clientReference, ...fields }: Fields) {
    return [chosenClient(parts, clientReference), fields] as const;
  }
  return {
    async orderEsim(order = {}) {
      const [client, ordered] = forClient(taken("orderEsim", esimOrder, order));
      return esimHandle(service, orderEsim(service, client, ordered).esimReference);
    },
    esim: async (esimReference) => esimHandle(service, esimReference),
    emit: async (event) => emitAny(parts, taken("emit", newEvent, event)),
    advance,
    settled: () => sender.settle(),
    faults: {
      add: (fault) => addFault(parts, fault),
      dropNextAnswer: (call) => dropNextAnswer(parts, call),
      clear,
      list,
    },
    async setEndpointActive(reference, active) {
      setAnyActive(service, reference, taken("setEndpointActive", endpointChange, { active }).active);
    },
    async addEventType(eventType) {
      addEventType(service, taken("addEventType", newEventType, { eventType }).eventType);
      changes.report("state");
    },
    async retireEventType(eventType) {
      retireEventType(service, taken("retireEventType", newEventType, { eventType }).eventType);
      changes.report("state");
    },
    addClient: async (client = {}) => addClient(service, taken("addClient", newClient, client)),
    async setStock(esimVariant, available, whose = {}) {
      const [client] = forClient(taken("setStock", z.strictObject(clientField), whose));
      setStock(service, client, esimVariant, taken("setStock", stock, { available }).available);
    },
    replay: async (choice = {}) => replay(service, ...forClient(taken("replay", replayChoice, choice))),
    dump: (choice = {}) => dump(service, ...forClient(taken("dump", dumpChoice, choice))),
    reset: async () => reset(parts),
  };
}
