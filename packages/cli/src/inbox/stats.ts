import type { CliContext } from "../program/context.ts";
import { layoutFor } from "../terminal/layout.ts";
import type { InboxFlags } from "./flags.ts";
import { statsView } from "./stats-view.ts";
import { withInbox } from "./with-inbox.ts";

export async function stats(this: CliContext, flags: InboxFlags): Promise<void> {
  await withInbox(this, flags, async ({ inbox }) => {
    const counts = await inbox.stats();
    if (flags.json) return this.output.json(counts);
    for (const line of statsView(counts, layoutFor(this.process.stdout))) this.output.data(line);
  });
}
