import type { Fault } from "@esim-webhooks/core/testing";
import type { Answer } from "./post.ts";

/** What a right receiver answers. */
export interface Expectation {
  /** For people: `401`. */
  readonly text: string;
  met(answer: Answer): boolean;
}

const accepted: Expectation = { text: "2xx", met: ({ status }) => status >= 200 && status < 300 };
const refused: Expectation = { text: "401", met: ({ status }) => status === 401 };

/** One that is stored is found invalid by its worker, and one that is worked inline at once. */
const invalid: Expectation = { text: "500 or 202", met: ({ status }) => status === 500 || status === 202 };

const again: Expectation = {
  text: "2xx as a duplicate",
  met: (answer) => accepted.met(answer) && !/"outcome":"(?!duplicate|already_stored)/.test(answer.body),
};

const byFault: Readonly<Record<Fault, Expectation>> = {
  tampered: refused,
  stale: refused,
  future: refused,
  wrong_key: refused,
  rotated: accepted,
  duplicate: again,
  unknown_type: accepted,
  invalid,
};

export const faults = Object.keys(byFault) as readonly Fault[];

/** What the answer to the delivery of this number, from 0, should be. */
export function expected(fault: Fault | undefined, index: number): Expectation {
  if (fault === undefined || (fault === "duplicate" && index === 0)) return accepted;
  return byFault[fault];
}
