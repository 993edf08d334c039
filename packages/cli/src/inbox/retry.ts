import type { CliContext } from "../program/context.ts";
import { flagsOf, shellWord } from "../program/shell-word.ts";
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
      next: `To see what becomes of them: esim-webhooks inbox ${watching(flags)}`,
      count: () => inbox.count(filter),
      act: (limit) => inbox.redrive(filter, limit),
    });
  });
}

/** The command that shows the same events, whatever their state; without a filter, the one that counts all. */
function watching({
  types,
  id = [],
  source,
  error,
  since,
  until,
  from,
  config,
  dataDir,
}: RetryFlags): string {
  const filter = [
    ...id.map((each) => ` --id ${shellWord(each)}`),
    flagsOf({
      types: types?.join(","),
      source,
      error,
      since: since?.toISOString(),
      until: until?.toISOString(),
    }),
  ].join("");
  return `${filter === "" ? "stats" : "list"}${filter}${flagsOf({ from, config, dataDir })}`;
}
