import type { Fault } from "@esim-webhooks/core/testing";
import type { Answer } from "./post.ts";

/** The answer of a correct receiver. */
export interface Expectation {
  /** Such as `401`. */
  readonly text: string;
  isMet(answer: Answer): boolean;
}

/** A `conflict` is a 2xx too, but the receiver has dropped the event. */
const accepted: Expectation = {
  text: "2xx, no conflict",
  isMet: ({ status, body }) => status >= 200 && status < 300 && !body.includes('"outcome":"conflict"'),
};
const refused: Expectation = { text: "401", isMet: ({ status }) => status === 401 };
/** Authentic, but outside the tolerance: not now. */
const putOff: Expectation = { text: "503", isMet: ({ status }) => status === 503 };

/** An inline receiver answers 500 immediately; with an inbox, the worker finds out later. */
const invalid: Expectation = { text: "500 or 202", isMet: ({ status }) => status === 500 || status === 202 };

const duplicate: Expectation = {
  text: "2xx as a duplicate",
  isMet: (answer) => accepted.isMet(answer) && !/"outcome":"(?!duplicate|already_stored)/.test(answer.body),
};

const byFault: Readonly<Record<Fault, Expectation>> = {
  tampered: refused,
  stale: putOff,
  future: putOff,
  wrong_key: refused,
  rotated: accepted,
  duplicate,
  unknown_type: accepted,
  invalid,
};

export const faults = Object.keys(byFault) as readonly Fault[];

/**
 * The likely cause of an unexpected answer, and the advice. Undefined when the answer does not show it.
 * @param flag names the receiver's URL
 */
export function hintOf({ status, body }: Answer, flag: string): string | undefined {
  if (body.includes('"outcome":"conflict"')) {
    return "The receiver has this id with another body, at least with another timestamp. To send a delivery twice, use --fault duplicate.";
  }
  if (status === 401 && body.includes('"code":"no_matching_key"')) {
    return "The receiver has another secret than the one that signed: compare them.";
  }
  if (status === 401) {
    return "This 401 is not the answer of an esim-webhooks receiver: something in front of it answered, such as an authentication hook. Let deliveries pass without it.";
  }
  const code = /"code":"(\w+)"/.exec(body)?.[1];
  if (code === "body_consumed") {
    return "Something read the body before the receiver did, such as express.json(): mount the receiver before it. The receiver's log has the details.";
  }
  if (status >= 500 && code !== undefined) return `The receiver's log says why it answered ${code}.`;
  if (status === 404) return `Nothing takes deliveries at this path: correct ${flag}.`;
  return undefined;
}

/** The expected answer to the delivery with this index, which starts at 0. */
export function expected(fault: Fault | undefined, index: number): Expectation {
  if (fault === undefined || (fault === "duplicate" && index === 0)) return accepted;
  return byFault[fault];
}
