import type { CliContext } from "../program/context.ts";
import { checkConfirmable, perform } from "./action.ts";
import { filterOf } from "./filter.ts";
import type { DeadFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

export async function discard(this: CliContext, flags: DeadFlags): Promise<void> {
  checkConfirmable(this, "discard", flags);
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const filter = await filterOf(flags, access, this.output);
    await perform(this, flags, {
      name: "discard",
      noun: "dead event",
      verb: "delete for good",
      report: (events) => `Deleted: ${events}.`,
      count: () => inbox.count({ ...filter, state: "dead" }),
      act: (limit) => inbox.purgeDead(filter, limit),
    });
  });
}
