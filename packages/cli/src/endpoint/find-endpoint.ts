import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient, ApiError, type WebhookEndpoint } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { printable } from "@esim-webhooks/core/log-lines";
import { type EndpointErrorCode, listEndpoints } from "@esim-webhooks/endpoint";
import { maskedText } from "../api/shown-record.ts";
import { explainedCall } from "../program/call-error.ts";
import type { Output } from "../program/context.ts";

/**
 * The endpoint that a command is about: the one with this reference, else the one that the keys name, else the client's only endpoint.
 * Rejects with `endpoint_unknown`, and a list of the client's endpoints.
 */
export async function theEndpoint(
  api: ApiClient,
  reference: string | undefined,
  namedByKeys?: string,
): Promise<WebhookEndpoint> {
  const all = await listEndpoints(api);
  const wanted = reference ?? namedByKeys;
  if (wanted !== undefined) {
    const named = all.find(({ webhookEndpointReference }) => webhookEndpointReference === wanted);
    if (named !== undefined) return named;
    throw reference === undefined
      ? unknown(
          `The keys are those of the endpoint ${printable(wanted)}, which the client does not have.`,
          `If you mean another one, name it with --endpoint. ${listOf(all, "The client")}`,
        )
      : unknown(`The client has no endpoint ${printable(wanted)}.`, `Correct --endpoint. ${listOf(all)}`);
  }
  const [only, another] = all;
  if (only === undefined) {
    throw unknown("The client has no endpoint.", "Register one: esim-webhooks endpoint ensure <url>.");
  }
  if (another === undefined) return only;
  throw unknown(
    `The client has ${all.length} endpoints, so the command needs to know which one.`,
    `Name it with --endpoint. ${listOf(all)}`,
  );
}

/** The error for a command whose endpoint was deleted while it ran. Undefined if the endpoint still exists, or the API does not answer. */
export async function goneEndpoint(
  api: ApiClient,
  reference: string,
): Promise<WebhookError<EndpointErrorCode> | undefined> {
  const all = await listEndpoints(api).catch(() => undefined);
  if (all === undefined || all.some(({ webhookEndpointReference }) => webhookEndpointReference === reference))
    return undefined;
  return unknown(
    `The endpoint ${printable(reference)} no longer exists.`,
    `Start the command again, for another one. ${listOf(all, "The client")}`,
  );
}

function unknown(problem: string, remedy: string): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>("endpoint_unknown", problem, remedy);
}

function listOf(endpoints: readonly WebhookEndpoint[], who = "It"): string {
  if (endpoints.length === 0) return `${who} has none.`;
  const each = endpoints.map(({ webhookEndpointReference, url, active }) => {
    const where = printable(maskedText(url));
    return `${printable(webhookEndpointReference)} (${where}${active ? "" : ", not active"})`;
  });
  return `${who} has ${each.join(", ")}.`;
}

/** `theEndpoint` for a command that runs until it is stopped: while the API does not answer, it is asked again every `everyMs`. */
export function awaitEndpoint(
  api: ApiClient,
  reference: string | undefined,
  everyMs: number,
  output: Output,
): Promise<WebhookEndpoint> {
  return tryAgain(() => theEndpoint(api, reference), {
    everyMs,
    output,
    asUnreachable: (error) =>
      error instanceof ApiError && error.retryable ? explainedCall(error) : undefined,
    next: "The API is asked again until it answers.",
  });
}

/** How a command that runs until it is stopped waits for what it needs. */
export interface TryAgainOptions {
  readonly everyMs: number;
  readonly output: Output;
  /** The error to print, if it says that something is unreachable; undefined: trying again is of no use. */
  readonly asUnreachable: (error: unknown) => unknown;
  /** The sentence after the first error: what happens next. */
  readonly next: string;
}

/** Repeats the work every `everyMs` until it succeeds. Rejects with an error that `asUnreachable` does not take. */
export async function tryAgain<Result>(
  work: () => Promise<Result>,
  { everyMs, output, asUnreachable, next }: TryAgainOptions,
): Promise<Result> {
  for (let isFailing = false; ; isFailing = true) {
    try {
      return await work();
    } catch (error) {
      const unreachable = asUnreachable(error);
      if (unreachable === undefined) throw error;
      if (!isFailing) output.note(`${output.describe(unreachable)} ${next}`);
    }
    await sleep(everyMs);
  }
}
