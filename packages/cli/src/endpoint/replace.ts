import type { ApiClient } from "@esim-webhooks/client";
import {
  type EndpointWish,
  type ReconcileTarget,
  type ReplacedEndpoint,
  reconcile,
  replaceEndpoint,
} from "@esim-webhooks/endpoint";
import { importTarget } from "../import/import-target.ts";
import { commandLogger } from "../log/command-logger.ts";
import type { Output } from "../program/output.ts";
import { openState } from "../set-up/open-state.ts";
import { openTarget } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";
import type { EnsureFlags } from "./ensure-flags.ts";

/** Replaces the endpoint of a URL; what the first one has goes to the target of the set-up. */
export async function replace(
  api: ApiClient,
  setUp: SetUp,
  wish: EndpointWish<unknown>,
  { since }: EnsureFlags,
  output: Output,
): Promise<ReplacedEndpoint> {
  const open = await openTarget(setUp);
  const { state, close } = await openState(setUp);
  const { target, options } = importTarget(open);
  const { source, catalog } = setUp;
  const logger = commandLogger({ write: output.note, json: false, style: output.styleNote });
  output.note("While there are two endpoints, one event may come under two ids, and is handled twice then.");
  try {
    return await replaceEndpoint<unknown>(api, {
      ...wish,
      logger,
      reconcile: ({ endpoint, ...first }) =>
        reconcile<unknown>(api, endpoint, target as ReconcileTarget<unknown>, {
          ...options,
          ...(catalog && { catalog }),
          ...first,
          state,
          source,
          since,
          logger,
        }),
    });
  } finally {
    await close();
    await open.close();
  }
}
