import type { EsimEvents } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

const esims = 20;

export const idOf = (n: number): string => `msg_${n}`;
export const esimOf = (id: string): string => `esim_${Number(id.slice("msg_".length)) % esims}_of_erika`;

/** The type that operators pause. */
export const pausedType = "esim.balance.updated";

/** The event of an id, the same in every process. A third of the events is of the type that operators pause. */
export function eventOf(id: string): {
  readonly id: string;
  readonly type: keyof EsimEvents;
  readonly timestamp: string;
  readonly data: object;
} {
  const type = Number(id.slice("msg_".length)) % 3 === 0 ? pausedType : "esim.enabled";
  const data = { ...sampleData(type), esimReference: esimOf(id) };
  return { id, type, timestamp: new Date().toISOString().replace(/T.*/, "T00:00:00Z"), data };
}

/** The operations that operators repeat. */
export const operations = ["pause", "resume", "redrive", "erase"] as const;
export type Operation = (typeof operations)[number];

/** The eSIMs that operators erase. */
export const erasedEsims: readonly string[] = [0, 1, 2].map((n) => esimOf(idOf(n)));
