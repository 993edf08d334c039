import type { ApiClient } from "@esim-webhooks/client";
import type { Logger } from "@esim-webhooks/core";
import {
  type EndpointWish,
  type ReplacedEndpoint,
  reconcile,
  replaceEndpoint,
} from "@esim-webhooks/endpoint";
import { commandLogger } from "../log/command-logger.ts";
import type { Output } from "../program/output.ts";
import { printable } from "../program/printable.ts";
import type { SetUp } from "../set-up/set-up.ts";
import type { EnsureFlags } from "./ensure-flags.ts";
import { openReconcileTarget } from "./reconcile-target.ts";
import { withoutReports } from "./without-reports.ts";

/** Replaces the endpoint of a URL; what the first one has goes to the target of the set-up. */
export async function replace(
  api: ApiClient,
  setUp: SetUp,
  wish: EndpointWish<unknown>,
  { since, acceptLoss }: EnsureFlags,
  output: Output,
): Promise<ReplacedEndpoint> {
  const { target, options, close } = await openReconcileTarget(setUp);
  const logger = commandLogger({ write: output.note, json: false, style: output.styleNote });
  const steps: Logger = { ...logger, info: (_, message) => output.note(printable(message ?? "")) };
  output.note("While there are two endpoints, one event may come under two ids, and is handled twice then.");
  try {
    return await replaceEndpoint<unknown>(api, {
      ...wish,
      acceptLoss,
      logger: steps,
      reconcile: ({ endpoint, ...pass }) =>
        reconcile<unknown>(api, endpoint, target, {
          ...options,
          since,
          ...pass,
          logger: withoutReports(logger),
        }),
    });
  } finally {
    await close();
  }
}
