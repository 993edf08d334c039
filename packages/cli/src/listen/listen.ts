import { isThisMachine, withApi } from "../api/open-client.ts";
import { awaitEndpoint, theEndpoint } from "../endpoint/find-endpoint.ts";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { receiverUrl, urlOfServe } from "../send/receiver-url.ts";
import { currentSigningSecret, requiredSecret } from "../set-up/known-secrets.ts";
import type { ListenFlags } from "./flags.ts";
import { follow } from "./follow.ts";
import { resend } from "./resend.ts";

/** Posts the events of an endpoint, as its listing shows them, to a receiver: on this machine, unless with --allow-remote. */
export async function listen(this: CliContext, flags: ListenFlags): Promise<void> {
  refuseUnused(flags);
  await withApi(this, flags, async (api, setUp) => {
    const url = receiverUrl(flags.to ?? urlOfServe(setUp, this.process), "--to");
    if (!flags.allowRemote) refuseRemote(url);
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
  throw invalidUsage(
    `--id posts one event, so ${unused.join(" and ")} ${unused.length === 1 ? "has" : "have"} no effect.`,
    "Remove one of them.",
  );
}

/** Throws `invalid_usage` for another machine: events have personal data. */
export function refuseRemote(url: string): void {
  const { hostname } = new URL(url);
  if (isThisMachine(hostname)) return;
  throw invalidUsage(
    `--to names another machine, ${hostname}, and the events have personal data of real people.`,
    "Name a receiver on localhost, or add --allow-remote if that machine may have the events.",
  );
}
