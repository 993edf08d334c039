import { withApi } from "../api/with-api.ts";
import { awaitEndpoint } from "../endpoint/await-endpoint.ts";
import { theEndpoint } from "../endpoint/the-endpoint.ts";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";
import { urlOfServe } from "../send/receiver-url.ts";
import { currentSigningSecret, requiredSecret } from "../set-up/known-secrets.ts";
import { follow } from "./follow.ts";
import { localReceiver } from "./local-receiver.ts";
import { resend } from "./resend.ts";
import type { ListenFlags } from "./session.ts";

/** Posts the events of an endpoint to a receiver on this machine, as the deliveries listing shows them. */
export async function listen(this: CliContext, flags: ListenFlags): Promise<void> {
  refuseUnused(flags);
  await withApi(this, flags, async (api, setUp) => {
    const url = localReceiver(flags.to ?? urlOfServe(setUp, this.process), flags.allowRemote ?? false);
    const secret = await currentSigningSecret(requiredSecret(setUp, anySecret));
    const endpoint =
      flags.id === undefined
        ? await awaitEndpoint(api, flags.endpoint, flags.every, this.output)
        : await theEndpoint(api, flags.endpoint);
    const session = { context: this, flags, api, endpoint, url, secret };
    await (flags.id === undefined ? follow(session) : resend(session, flags.id));
  });
}

const anySecret = "any secret that the receiver at --to has, which need not be the endpoint's"; // completes "Set … to"

function refuseUnused({ id, since, only }: ListenFlags): void {
  const unused = [...(since === undefined ? [] : ["--since"]), ...(only === undefined ? [] : ["--only"])];
  if (id === undefined || unused.length === 0) return;
  throw new ProgramError(
    "invalid_usage",
    `--id posts one event, whatever ${unused.join(" and ")} ${unused.length === 1 ? "says" : "say"}.`,
    "Remove one of them.",
  );
}
