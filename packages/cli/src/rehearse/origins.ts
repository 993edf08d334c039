import type { InboxEntry } from "@esim-webhooks/core";
import { readDeliveries } from "@esim-webhooks/endpoint";
import { importDeliveries } from "@esim-webhooks/import";
import { clientOptions } from "../api/client-options.ts";
import { openClient } from "../api/open-client.ts";
import { theEndpoint } from "../endpoint/find-endpoint.ts";
import { openDump } from "../import/dump-file.ts";
import { listPages } from "../inbox/filter.ts";
import { withInbox } from "../inbox/with-inbox.ts";
import { explainedCall } from "../program/call-error.ts";
import type { CliContext } from "../program/context.ts";
import { knownSecrets } from "../set-up/known-secrets.ts";
import type { SetUp } from "../set-up/set-up.ts";
import type { RehearseFlags } from "./flags.ts";

/** Called with each event that is read. */
export type Look = (id: string, body: Uint8Array) => Promise<void>;

/** How many records could not be looked at, and why. */
export interface Unread {
  readonly unread: number;
  readonly reason: string;
}

/** Reads the events of a dump. Delivery records need no signature here, since no handler gets them. */
export async function readDump(
  context: CliContext,
  path: string,
  setUp: SetUp,
  since: Date,
  look: Look,
): Promise<Unread> {
  const { input } = await openDump(path, { dryRun: true }, context.process);
  const put = async (entries: readonly InboxEntry[]) => {
    for (const { id, body } of entries) await look(id, body);
    return entries.map(() => "stored" as const);
  };
  const { ledger } = await importDeliveries(
    input,
    { put },
    {
      since,
      trustUnsigned: true,
      secret: (await knownSecrets(setUp.secret)) ?? [],
    },
  );
  return { unread: ledger.invalid + ledger.rejected, reason: "is no record of an event, or does not verify" };
}

/** Reads the deliveries of an endpoint. */
export async function readListing(
  { process }: CliContext,
  { endpoint }: RehearseFlags,
  setUp: SetUp,
  since: Date,
  look: Look,
): Promise<Unread> {
  const api = openClient(setUp, process, clientOptions(setUp, process));
  try {
    const { webhookEndpointReference: reference } = await theEndpoint(api, endpoint);
    for await (const { deliveries } of readDeliveries(api, reference, { until: since }))
      for (const { eventId, payload } of deliveries) {
        const { timestamp } = Object(payload) as { readonly timestamp?: unknown };
        if (eventId !== null && !(Date.parse(String(timestamp)) < since.getTime()))
          await look(eventId, Buffer.from(JSON.stringify(payload)));
      }
  } catch (error) {
    throw explainedCall(error);
  }
  return { unread: 0, reason: "" };
}

/** Reads the bodies that the inbox keeps. */
export async function readInbox(
  context: CliContext,
  flags: RehearseFlags,
  since: Date,
  look: Look,
): Promise<Unread> {
  let unread = 0;
  const { from: _, ...setUpFlags } = flags;
  await withInbox(context, setUpFlags, async ({ inbox }) => {
    for await (const { rows } of listPages(inbox, { since }))
      for (const { source, id } of rows) {
        const body = (await inbox.get({ source, id }))?.body;
        if (body) await look(id, body);
        else unread += 1;
      }
  });
  return { unread, reason: "has no body any more" };
}
