import type { CliContext } from "../program/context.ts";
import { checkAskable, perform } from "./action.ts";
import { filterOf } from "./filter.ts";
import type { RetryFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

export async function retry(this: CliContext, flags: RetryFlags): Promise<void> {
  checkAskable(this, "retry", flags);
  await withInbox(this, flags, async (at) => {
    const { inbox } = at;
    const { status: state = "dead" } = flags;
    const filter = { ...(await filterOf(flags, at, this.output)), state };
    await perform(this, flags, {
      name: "retry",
      noun: `${state} event`,
      verb: "retry",
      report: (events) => `Ready to be worked again: ${events}.`,
      count: () => inbox.count(filter),
      act: (limit) => inbox.redrive(filter, limit),
    });
  });
}
