import { ApiError, type WebhookDelivery, type WebhookEndpoint } from "@esim-webhooks/client";
import { createKeyring } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { listedMs, occurredAtMs } from "@esim-webhooks/endpoint";
import { maskedText } from "../api/shown-record.ts";
import { goneEndpoint } from "../endpoint/find-endpoint.ts";
import { matchingTypes } from "../flags/types-flag.ts";
import { explainedCall } from "../program/call-error.ts";
import { exitCodes } from "../program/exit-code.ts";
import { stopSignal } from "../program/stopping.ts";
import { hintOf } from "../send/expectation.ts";
import { tryPost } from "../send/post.ts";
import { counted } from "../terminal/quantities.ts";
import { createEventFeed } from "./event-feed.ts";
import { printPosting } from "./posting-view.ts";
import { createRelay, type Posting, type Relay, sleep } from "./relay.ts";
import { type Session, signedDelivery } from "./session.ts";

/** Posts events as they are listed until the command is stopped, then prints how many were accepted. Ends with 3 if not all were. */
export async function follow(session: Session): Promise<void> {
  const { context, flags, url, secret } = session;
  const { output } = context;
  warnOfUnsubscribed(session);
  const told = new Set<string>();
  const relay = createRelay({
    post: async (delivery) => {
      const request = signedDelivery(delivery, await secret());
      return request && tryPost(url, request);
    },
    onPosting(posting) {
      printPosting(posting, output, flags);
      const hint = posting.state === "retrying" ? hintFor(posting) : undefined;
      if (hint !== undefined && !told.has(hint)) output.note(hint);
      if (hint !== undefined) told.add(hint);
      if (posting.state === "given_up") for (const line of adviceFor(posting, session)) output.note(line);
    },
    onReceiver: (isUp) =>
      output.note(
        isUp
          ? `${url} answers again.`
          : `Nothing answers at ${url}. Start the receiver: until then, all events are kept for it.`,
      ),
  });
  const stop = stopSignal(context, "the attempt under way");
  const failed = new AbortController();
  const ended = AbortSignal.any([stop.signal, failed.signal]);
  let leftOut = 0;
  const polling = poll(session, ended, (deliveries) => {
    const wanted = deliveries.filter((delivery) => isWanted(delivery, flags.only));
    leftOut += deliveries.length - wanted.length;
    relay.add(wanted);
  });
  const both = [polling, relay.run(ended)].map((one) => one.finally(() => failed.abort()));
  const results = await Promise.allSettled(both); // the attempt that is under way ends first
  stop.release();
  printLedger(session, relay, leftOut);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/** Reads the listing at intervals. Rejects with an error that no retry can resolve. */
async function poll(
  session: Session,
  signal: AbortSignal,
  onDeliveries: (deliveries: readonly WebhookDelivery[]) => void,
): Promise<void> {
  const { context, api, endpoint, flags } = session;
  const { output } = context;
  const feed = createEventFeed(api, endpoint.webhookEndpointReference, { since: flags.since });
  let isStarted = false;
  let isFailing = false;
  while (!signal.aborted) {
    try {
      const found = await feed.read(signal);
      const wanted = found.filter((delivery) => isWanted(delivery, flags.only));
      if (!isStarted) {
        const secret = await session.secret();
        for (const line of welcome({ ...session, secret }, wanted.length)) output.note(line);
      }
      if (isFailing) output.note("The API answers again.");
      isStarted = true;
      isFailing = false;
      onDeliveries(found);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.code === "not_found") {
        throw (await goneEndpoint(api, endpoint.webhookEndpointReference)) ?? error;
      }
      if (!(error instanceof ApiError && error.retryable)) throw error;
      if (!isFailing)
        output.note(`${output.describe(explainedCall(error))} The listing is read again until it answers.`);
      isFailing = true;
    }
    await sleep(flags.every, signal);
  }
}

function warnOfUnsubscribed({ endpoint, flags, context }: Session): void {
  const { eventTypes } = endpoint;
  for (const type of flags.only ?? []) {
    if (matchingTypes(type, eventTypes).length > 0) continue;
    const names = type.endsWith("*") ? eventTypes.map((name) => name.replace(/[^.]*$/, "*")) : eventTypes;
    context.output.note(
      `Warning (unknown_event_type): --only ${printable(type)} matches no event type that the endpoint gets. ${suggest(type, [...new Set(names)])}`,
    );
  }
}

function isWanted({ eventType }: WebhookDelivery, only: readonly string[] | undefined): boolean {
  return only === undefined || only.some((type) => matchingTypes(type, [eventType ?? ""]).length > 0);
}

function hintFor({ result }: Posting): string | undefined {
  return result !== undefined && "status" in result ? hintOf(result, "--to") : undefined;
}

function adviceFor(posting: Posting, { endpoint, url }: Session): readonly string[] {
  const hint = hintFor(posting);
  const { eventId: id } = posting.delivery;
  const resend = `esim-webhooks listen --to ${url} --endpoint ${endpoint.webhookEndpointReference} --id ${printable(id ?? "")}`;
  const advice = id === null ? "It is given up." : `It is given up. To post it again: ${resend}`;
  return [...(hint === undefined ? [] : [hint]), advice];
}

function printLedger({ context, flags }: Session, relay: Relay, leftOut: number): void {
  const { accepted, givenUp, waiting } = relay.counts();
  const found = accepted + givenUp + waiting.length + leftOut;
  if (givenUp + waiting.length > 0) context.process.exitCode = exitCodes.problem;
  if (flags.json) {
    context.output.json({ ledger: { found, accepted, givenUp, notAccepted: waiting.length, leftOut } });
    return;
  }
  const parts = [
    `${accepted} accepted`,
    ...(givenUp > 0 ? [`${givenUp} given up`] : []),
    ...(waiting.length > 0 ? [`${waiting.length} not accepted yet`] : []),
    ...(leftOut > 0 ? [`${leftOut} left out by --only`] : []),
  ];
  context.output.data(`${counted(found, "event")}: ${parts.join(", ")}.`);
  const oldest = Math.min(...waiting.map(occurredAtMs));
  if (Number.isFinite(oldest))
    context.output.note(
      `To post the others: the same command with --since ${new Date(oldest).toISOString()}`,
    );
}

/** The first lines: whose events are posted, since when, where to. `found` is how many there are already. */
export function welcome(
  { endpoint, url, secret, flags }: WelcomedSession,
  found: number,
  now: number = Date.now(),
): readonly string[] {
  const { webhookEndpointReference: reference, active } = endpoint;
  const [key] = createKeyring([secret]).keysAt(now);
  return [
    `${which(flags.since, found, now)} of ${printable(reference)} (${printable(maskedText(endpoint.url))}) are posted to ${url}, signed with ${key?.fingerprint}. Press Ctrl-C to stop.`,
    ...(active ? [] : ["The endpoint is not active, so there will be no new ones."]),
  ];
}

/** The parts of the session that `welcome` needs. */
export type WelcomedSession = Pick<Session, "url"> & {
  readonly secret: string | Uint8Array;
  readonly endpoint: Pick<WebhookEndpoint, "webhookEndpointReference" | "url" | "active">;
  readonly flags: Pick<Session["flags"], "since">;
};

function which(since: Date | undefined, found: number, now: number): string {
  if (since === undefined) return "New events";
  const from =
    since.getTime() < now - listedMs
      ? "from the last 7 days, which is all that the service lists"
      : `since ${since.toISOString()}`;
  return `${counted(found, "event")} ${from}, and new ones,`;
}
