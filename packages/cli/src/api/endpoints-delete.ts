import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";
import { confirm } from "../terminal/confirm.ts";
import type { DeleteFlags } from "./flags.ts";
import { shownRecord, shownText } from "./shown-record.ts";
import { withApi } from "./with-api.ts";

export async function deleteEndpoint(this: CliContext, flags: DeleteFlags, reference: string): Promise<void> {
  const { output } = this;
  await withApi(this, flags, async (api) => {
    if (!flags.yes && !(await isConfirmed(this, reference))) return output.note("Nothing was changed.");
    const removed = await api.webhooks.delete(reference); // undefined when only the answer was lost
    if (flags.json) {
      return output.json(shownRecord(removed ?? { webhookEndpointReference: reference }, false));
    }
    const url = removed === undefined ? "." : `: ${printable(shownText(removed.url, false))}`;
    output.data(`Deleted the endpoint ${printable(reference)}${url}`);
  });
}

/** Throws `invalid_usage` without a terminal. */
async function isConfirmed({ process }: CliContext, reference: string): Promise<boolean> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new ProgramError(
      "invalid_usage",
      "endpoints delete asks before it deletes, but there is no terminal to ask on.",
      "Add --yes.",
    );
  }
  const question = `Delete the endpoint ${printable(reference)}? What waits for it is not sent, and its deliveries can no longer be listed.`;
  const answer = await confirm(question, { input: stdin, output: stderr });
  if (answer === "interrupted") process.exitCode = exitCodes.interrupted;
  return answer === "yes";
}
