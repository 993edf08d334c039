import type { InboxState } from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/kit";
import type { CliContext } from "../program/context.ts";
import { missingRole } from "../set-up/open-target.ts";
import { checkConfirmable, perform } from "./action.ts";
import type { PurgeFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

export async function purge(this: CliContext, flags: PurgeFlags): Promise<void> {
  checkConfirmable(this, "purge", flags);
  await withInbox(this, flags, async ({ inbox, where }) => {
    if (!hasRole(inbox, "queue")) throw missingRole("queue", where);
    const endedBy = new Date();
    const count = (state: InboxState) => inbox.count({ state, endedBy });
    await perform(this, flags, {
      name: "purge",
      noun: "event past its retention",
      nouns: "events past their retention",
      verb: "delete",
      report: (events) => `Deleted: ${events}.`,
      count: async () => (await count("done")) + (await count("unhandled")),
      act: (limit) => inbox.purge(limit),
    });
  });
}
