import type { StoredEvent } from "@esim-webhooks/core";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";
import { layoutFor } from "../terminal/layout.ts";
import type { ShowFlags } from "./flags.ts";
import { shownJson } from "./row-json.ts";
import { showView } from "./show-view.ts";
import { wholeId } from "./whole-id.ts";
import { type InboxAccess, withInbox } from "./with-inbox.ts";

export async function show(this: CliContext, flags: ShowFlags, id: string): Promise<void> {
  const { json = false, reveal = false } = flags;
  const { output, process } = this;
  await withInbox(this, flags, async (access) => {
    const row = await find(access, await wholeId(access.inbox, id, flags.source), flags.source);
    if (row === undefined) {
      output.note(`There is no event ${printable(id)} in ${access.where}.`);
      process.exitCode = exitCodes.problem;
      return;
    }
    if (json) return output.json(shownJson(row, reveal));
    const { paint } = layoutFor(process.stdout);
    for (const line of showView(row, { now: Date.now(), reveal, ...(paint && { paint }) })) output.data(line);
    if (!reveal) output.note("\nPersonal data is masked (•••); --reveal shows it.");
  });
}

/** Finds an event of the source of --source; without that flag, of the config's source, else of any other. */
async function find(
  { inbox, source }: InboxAccess,
  id: string,
  flag: string | undefined,
): Promise<StoredEvent | undefined> {
  const event = await inbox.get({ source: flag ?? source, id });
  if (event !== undefined || flag !== undefined) return event;
  const { rows } = await inbox.list({ ids: [id] }, { limit: 10 });
  const [only] = rows;
  if (only === undefined) return undefined;
  if (rows.length === 1) return inbox.get(only);
  throw new ProgramError(
    "invalid_usage",
    `There are ${rows.length} events with this id, from the sources ${rows.map((each) => printable(each.source)).join(", ")}.`,
    "Choose one with --source.",
  );
}
