import type { WorkerPresence } from "@esim-webhooks/core";
import { ago } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import type { CliContext } from "../program/context.ts";
import { count } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import { type Layout, layoutFor } from "../terminal/text.ts";
import type { InboxFlags } from "./flags.ts";
import { withInbox } from "./with-inbox.ts";

export async function workers(this: CliContext, flags: InboxFlags): Promise<void> {
  await withInbox(this, flags, async ({ inbox, where }) => {
    const present = await inbox.workers();
    if (flags.json) return this.output.json(present);
    if (present.length === 0) return this.output.note(`No worker has reported to ${where} in the last 30 s.`);
    for (const line of workersView(present, this.now(), layoutFor(this.process.stdout, this.process.env)))
      this.output.data(line);
  });
}

/** A row per worker. A dash: the engine does not know this. */
export function workersView(
  workers: readonly WorkerPresence[],
  now: number,
  layout: Layout = {},
): readonly string[] {
  const columns = [
    { title: "WORKER", cuts: true as const },
    { title: "VERSION" },
    { title: "STARTED" },
    { title: "RUNNING", align: "right" as const },
    { title: "LAST TAKE" },
  ];
  const rows = workers.map(({ id, version, startedAt, running, concurrency, lastTakeAt }) => [
    printable(id),
    version === null ? "–" : printable(version),
    ago(startedAt, now),
    `${known(running)} of ${known(concurrency)}`,
    lastTakeAt === null ? "–" : ago(lastTakeAt, now),
  ]);
  return table(columns, rows, layout);
}

function known(number: number | null): string {
  return number === null ? "–" : count(number);
}
