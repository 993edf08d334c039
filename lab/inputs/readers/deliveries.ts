import { createReceiver, verify } from "@esim-webhooks/core";
import { explainVerification } from "@esim-webhooks/core/explain";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { loggerWith } from "../../../test/support/loggers.ts";
import { checkSecrecy, privates, reader, rowsOf } from "../reader.ts";
import {
  authenticity,
  oracleAccepts,
  type Signed,
  secrets,
  signedGrammar,
  signedOf,
  signedParts,
} from "./signed.ts";

type Verdict = ReturnType<typeof verify>;

/** Answers to authentic deliveries that are none. */
const heldOff = new Set(["timestamp_out_of_tolerance", "unusable_header", "key_not_yet_valid"]);

/** Throws if a forged delivery is accepted, or an authentic one is refused for good. */
function checkVerdict(verdict: Verdict, signed: Signed): void {
  const truth = authenticity(signed);
  if (verdict.ok && truth === "no") throw new Error("a forged delivery is accepted");
  if (!verdict.ok && !heldOff.has(verdict.code) && truth === "yes")
    throw new Error(`an authentic delivery is refused: ${verdict.code}`);
  if (!verdict.ok) checkSecrecy(verdict.reason, "the reason", [...secrets, ...privates]);
}

/** Where we and `standardwebhooks` differ, and only there. */
const differences: Readonly<Record<string, (signed: Signed) => boolean>> = {
  "we refuse a timestamp that is not 1 to 16 digits": ({ headers }) =>
    !/^\d{1,16}$/.test(headers["webhook-timestamp"] ?? ""),
  "it signs a timestamp without its leading zeros": ({ headers }) =>
    /^0\d/.test(headers["webhook-timestamp"] ?? ""),
  "we refuse an id of more than 1,024 bytes, or with a NUL": ({ headers }) =>
    Buffer.byteLength(headers["webhook-id"] ?? "") > 1024 || (headers["webhook-id"] ?? "").includes("\0"),
  "it hashes other bytes than those of a body that is not UTF-8": ({ body }) =>
    !Buffer.from(body.toString()).equals(body),
  "it reads a header's characters as UTF-8 only": ({ headers }) => /[^ -~]/.test(headers["webhook-id"] ?? ""),
  "we read an id that was sent twice as sent once": ({ headers }) =>
    (headers["webhook-id"] ?? "").includes(","),
  "it splits a list of signatures at single spaces only, and takes a signature with more after a comma": ({
    headers,
  }) => !/^(?:[^\s,]+,[^\s,]+ )*[^\s,]+,[^\s,]+$/.test(headers["webhook-signature"] ?? ""),
};

const verifyReader = reader({
  name: "verify: headers and body, with standardwebhooks as the oracle",
  share: 30,
  grammar: signedGrammar,
  parts: signedParts,
  throws: [],
  prepare: signedOf,
  call: (signed) => verify(signed, secrets),
  check(verdict, signed) {
    checkVerdict(verdict, signed);
    // it is written in JavaScript: a long body or list takes it as long as hundreds of short ones
    const { length } = signed.headers["webhook-signature"] ?? "";
    if (signed.body.length + length > 4096 || verdict.ok === oracleAccepts(signed)) return;
    if (!Object.values(differences).some((isIt) => isIt(signed)))
      throw new Error(`${verdict.ok ? "only we accept" : "only standardwebhooks accepts"} it`);
  },
});

const explainReader = reader({
  name: "explain: why a delivery does not verify",
  share: 6,
  grammar: signedGrammar,
  parts: signedParts,
  throws: [],
  prepare: signedOf,
  call: (signed) => explainVerification(signed, secrets),
  check({ verdict, findings }, signed) {
    checkVerdict(verdict, signed);
    if (verdict.ok !== (findings.length === 0)) throw new Error("findings do not agree with the verdict");
    for (const { message } of findings) checkSecrecy(message, "a finding", [...secrets, ...privates]);
  },
});

/** By outcome code, the status that docs/status-contract.md names. */
const statuses = new Map(
  [...rowsOf("status-contract.md")].map(([code, [status = ""]]) => [code, Number.parseInt(status, 10)]),
);
const forAnyPost = ["too_large", "unsupported_encoding"];
const forForged = new Set([...forAnyPost, "missing_header", "malformed_header", "no_matching_key"]);

/** A receiver for many inputs: the memory of an inbox is limited. */
function receiverOf(kind: string) {
  const inbox = memoryInbox({ logger: loggerWith() });
  const handlers = {
    "esim.faulted": () => {
      throw new Error(privates.join(" "));
    },
    "esim.enabled": (_event: unknown, context: { retryLater(ms: number): never }) => context.retryLater(5),
    "esim.lifecycle.*": (_event: unknown, context: { discard(reason: string): never }) =>
      context.discard("x"),
    "*": () => {},
  };
  return createReceiver(kind === "inbox" ? inbox : handlers, { secret: [...secrets], logger: loggerWith() });
}

const receivers = new Map<string, { receiver: ReturnType<typeof receiverOf>; uses: number }>();

function receiverFor(kind: string) {
  const known = receivers.get(kind);
  const current = known === undefined || known.uses > 5000 ? { receiver: receiverOf(kind), uses: 0 } : known;
  receivers.set(kind, current);
  current.uses += 1;
  return current.receiver;
}

const receiverReader = reader({
  name: "receiver: a whole request",
  share: 15,
  grammar: {
    ...signedGrammar,
    method: ["POST", "POST", "POST", "POST", "GET", "post", ""],
    encoding: ["", "", "", "identity", "gzip", "br, gzip", "<characters>"],
    target: ["inbox", "handlers"],
  },
  parts: [...signedParts, "<method>", "<encoding>", "<target>"],
  throws: [],
  prepare(input) {
    const [, , , , method = "", encoding = "", target = ""] = input;
    const signed = signedOf(input);
    const headers = { ...signed.headers, ...(encoding && { "content-encoding": encoding }) };
    const receiver = receiverFor(target === "inbox" ? target : "handlers");
    return { signed, receiver, delivery: { method, headers, body: signed.body } };
  },
  call: ({ receiver, delivery }) => receiver.receive(delivery),
  check({ status, headers, body, outcome }, { signed, delivery: { method } }) {
    const { code } = outcome;
    if (status !== statuses.get(code)) throw new Error(`${code} is answered ${status}, not as in the docs`);
    checkSecrecy(body + JSON.stringify(headers), "the answer", [...secrets, ...privates]);
    if (JSON.parse(body)[status < 300 ? "outcome" : "code"] !== code) throw new Error("a wrong body");
    if (method !== "POST") {
      if (code !== "method_not_allowed") throw new Error(`${code} to the method ${method}`);
      return;
    }
    const truth = authenticity(signed);
    if (truth === "no" && !forForged.has(code)) throw new Error(`a forged delivery is answered ${code}`);
    if (truth === "yes" && status < 500 && status >= 300)
      throw new Error(`an authentic delivery is answered ${status} ${code}`);
    if (truth === "yes" && (code === "internal_error" || code === "store_unavailable"))
      throw new Error(`${code}: ${"error" in outcome ? String(outcome.error).slice(0, 200) : ""}`);
  },
});

export const deliveryReaders = [verifyReader, explainReader, receiverReader];
