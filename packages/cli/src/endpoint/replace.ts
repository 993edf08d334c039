import type { ApiClient } from "@esim-webhooks/client";
import type { Logger } from "@esim-webhooks/core";
import {
  type EndpointWish,
  type ReconcileOptions,
  type ReplacedEndpoint,
  reconcile,
  replaceEndpoint,
} from "@esim-webhooks/endpoint";
import { explained } from "../api/explained.ts";
import { commandLogger } from "../log/command-logger.ts";
import { describeError } from "../program/error-text.ts";
import type { Output } from "../program/output.ts";
import { printable } from "../program/printable.ts";
import type { SetUp } from "../set-up/set-up.ts";
import type { EnsureFlags } from "./ensure-flags.ts";
import { openReconcileTarget } from "./reconcile-target.ts";

/** Replaces the endpoint of a URL; what the first one has goes to the target of the set-up. */
export async function replace(
  api: ApiClient,
  setUp: SetUp,
  wish: EndpointWish<unknown>,
  { since, acceptLoss }: EnsureFlags,
  output: Output,
): Promise<ReplacedEndpoint> {
  const { target, options, close } = await openReconcileTarget(setUp);
  const problems = commandLogger({ write: output.note, json: false, style: output.styleNote });
  const steps: Logger = { ...problems, info: (_, message) => output.note(printable(message ?? "")) };
  output.note("While there are two endpoints, one event may come under two ids, and is handled twice then.");
  const pass = (endpoint: string, more: Omit<ReconcileOptions<unknown>, "state">) =>
    reconcile<unknown>(api, endpoint, target, {
      ...options,
      ...more,
      logger: { ...problems, info: () => {} },
    });
  try {
    const result = await replaceEndpoint<unknown>(api, {
      ...wish,
      acceptLoss,
      logger: steps,
      reconcile: ({ endpoint, ...first }) => pass(endpoint, { ...first, since }),
    });
    const { webhookEndpointReference: second, createdAt } = result.endpoint;
    if (result.replaced !== null) {
      // the later ones then need no --since
      const from = new Date(Math.min(Date.parse(createdAt) || Date.now(), Date.now()));
      await pass(second, { since: from, signal: wish.signal }).catch((error: unknown) => {
        const next = `Reconcile it yourself: esim-webhooks reconcile --endpoint ${second} --since ${from.toISOString()}`;
        output.note(`${describeError(explained(error))} ${next}`);
      });
    }
    return result;
  } finally {
    await close();
  }
}
