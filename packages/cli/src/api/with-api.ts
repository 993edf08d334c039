import type { ApiClient } from "@esim-webhooks/client";
import type { SetUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { explainedCall } from "../program/explained.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";
import { clientOptions, openClient } from "./open-client.ts";

/** Makes calls for a command. Their errors are explained in terms of the command line. */
export async function withApi(
  context: CliContext,
  flags: SetUpFlags,
  use: (api: ApiClient, setUp: SetUp) => Promise<void>,
): Promise<void> {
  const setUp = await readSetUp(context, flags);
  const api = openClient(setUp, context.process, clientOptions(setUp, context.process));
  await use(api, setUp).catch((error: unknown) => {
    throw explainedCall(error);
  });
}
