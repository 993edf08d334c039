import { expect } from "vitest";
import { addClient, type NewClient } from "../src/account/clients.ts";
import type { SwitchSettings } from "../src/base/switches.ts";
import type { Esim } from "../src/esim/esim.ts";
import { type EsimOrder, orderEsim } from "../src/lifecycle/order-esim.ts";
import { type TestService, testService } from "./service.ts";

/** What was emitted, without its timestamp. */
export interface Emitted {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of a service in memory. */
export interface Partner {
  readonly service: TestService;
  readonly clientReference: string;
  order(order?: EsimOrder): Esim;
  /** The bodies of the events since the last call, in their order. */
  bodies(): string[];
  /** The same, parsed. */
  events(): Emitted[];
}

export function partner(client: NewClient = {}, switches: SwitchSettings = {}): Partner {
  const service = testService(switches);
  const { clientId: clientReference } = addClient(service, client);
  let seen = 0;
  function bodies(): string[] {
    const rows = service.db.all<{ sequence: number; body: string }>(
      "select sequence, body from events where sequence > ? order by sequence",
      seen,
    );
    seen = rows.at(-1)?.sequence ?? seen;
    return rows.map(({ body }) => body);
  }
  return {
    service,
    clientReference,
    order: (order) => orderEsim(service, clientReference, order),
    bodies,
    events() {
      return bodies().map((body) => {
        const { type, data } = JSON.parse(body) as Emitted;
        return { type, data };
      });
    },
  };
}

export const typesOf = (events: readonly Emitted[]): string[] => events.map(({ type }) => type);

/** For a refusal: its code, and a part of what it says. */
export const refusal = (code: string, message: string | RegExp = ""): object =>
  expect.objectContaining({ name: "Refused", code, message: expect.stringMatching(message) });
