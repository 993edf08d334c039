import type { CliContext } from "../program/context.ts";
import { checkAskable, perform } from "./action.ts";
import { countPastRetention } from "./count-events.ts";
import type { PurgeFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

export async function purge(this: CliContext, flags: PurgeFlags): Promise<void> {
  checkAskable(this, "purge", flags);
  await withInbox(this, flags, ({ inbox }) =>
    perform(this, flags, {
      name: "purge",
      noun: "done event past its retention",
      nouns: "done events past their retention",
      verb: "delete",
      report: (events) => `Deleted: ${events}.`,
      count: (limit) => countPastRetention(inbox, limit, Date.now()),
      act: (limit) => inbox.purge(limit),
    }),
  );
}
