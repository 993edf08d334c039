import type { CliContext } from "../program/context.ts";
import { checkConfirmable, perform } from "./action.ts";
import { filterOf } from "./filter.ts";
import type { RetryFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

export async function retry(this: CliContext, flags: RetryFlags): Promise<void> {
  checkConfirmable(this, "retry", flags);
  await withInbox(this, flags, async (access) => {
    const { inbox } = access;
    const { status: state = "dead" } = flags;
    const filter = { ...(await filterOf(flags, access, this.output)), state };
    await perform(this, flags, {
      name: "retry",
      noun: `${state} event`,
      verb: "retry",
      report: (events) => `Made ready again: ${events}.`,
      count: () => inbox.count(filter),
      act: (limit) => inbox.redrive(filter, limit),
    });
  });
}
