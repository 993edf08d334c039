import { createKeyring, type StoredKey } from "@esim-webhooks/core";
import { printable } from "@esim-webhooks/core/log-lines";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage } from "../program/program-error.ts";
import { isKeyStore, keyPlaceOf } from "../set-up/key-place.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { confirm } from "../terminal/confirm.ts";
import type { DeleteFlags } from "./flags.ts";
import { withApiToWrite } from "./open-client.ts";
import { maskedRecord, maskedText } from "./shown-record.ts";

export async function deleteEndpoint(this: CliContext, flags: DeleteFlags, reference: string): Promise<void> {
  const { output } = this;
  await withApiToWrite(this, flags, async (api, setUp) => {
    if (!flags.yes && !(await isConfirmed(this, reference))) return output.note("Nothing was changed.");
    const removed = await api.webhooks.delete(reference); // undefined if it was deleted, but the answer was lost
    if (isKeyStore(setUp.secret)) await endKeys(this, setUp, reference);
    if (flags.json) {
      return output.json(maskedRecord(removed ?? { webhookEndpointReference: reference }));
    }
    const url = removed === undefined ? "." : `: ${printable(maskedText(removed.url))}`;
    output.data(`Deleted the endpoint ${printable(reference)}${url}`);
  });
}

/** Gives the endpoint's keys an end, and says so. The endpoint is deleted already, so an error is only shown. */
async function endKeys({ output, now }: CliContext, setUp: SetUp, reference: string): Promise<void> {
  try {
    const { keys, where } = await endKeysOf(setUp, reference, now());
    if (keys.length > 0) output.note(`Its key in ${where} (${keys.join(", ")}) ends in 2 minutes.`);
  } catch (error) {
    output.note(`${output.describe(error)} So the keys of the endpoint stay.`);
  }
}

/** Asks whether to delete. Throws `invalid_usage` without a terminal. */
async function isConfirmed({ process }: CliContext, reference: string): Promise<boolean> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw invalidUsage(
      "endpoints delete asks before it deletes, but there is no terminal to ask on.",
      "Add --yes.",
    );
  }
  const question = `Delete the endpoint ${printable(reference)}? What waits for it is not sent, and its deliveries can no longer be listed.`;
  const answer = await confirm(question, { input: stdin, output: stderr });
  if (answer === "interrupted") process.exitCode = exitCodes.interrupted;
  return answer === "yes";
}

/** The keys stay valid for this time: the service may still be sending. */
const endsInMs = 2 * 60_000;

/** Keys that were given an end. */
export interface EndedKeys {
  /** Their fingerprints. */
  readonly keys: readonly string[];
  /** The name of their key store, for messages. */
  readonly where: string;
}

/**
 * Gives the keys of a deleted endpoint an end, in the config's key store. The next rotation removes these keys once they have ended.
 * Keys that do not name the endpoint stay.
 */
export async function endKeysOf(setUp: SetUp, reference: string, now: number): Promise<EndedKeys> {
  const { keyStore, where } = keyPlaceOf(setUp, undefined);
  for (;;) {
    const stored = await keyStore.read();
    const { keys = [], ...rest } = stored?.record ?? {};
    const isOfIt = (key: string | StoredKey): key is StoredKey =>
      typeof key !== "string" && key.endpoint === reference;
    const own = keys.filter(isOfIt);
    if (own.length === 0) return { keys: [], where };
    const notAfter = new Date(now + endsInMs).toISOString();
    const ended = keys.map((key) => (isOfIt(key) ? { ...key, notAfter } : key));
    if (await keyStore.write({ ...rest, keys: ended }, stored?.version))
      return {
        keys: own.map(({ secret }) => createKeyring([secret]).keysAt(0)[0]?.fingerprint ?? ""),
        where,
      };
  }
}
