import type { CliContext } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import type { ApiFlags } from "./flags.ts";
import { shownRecord } from "./shown-record.ts";
import { withApi } from "./with-api.ts";

export async function eventTypes(this: CliContext, flags: ApiFlags): Promise<void> {
  const { output } = this;
  await withApi(this, flags, async (api) => {
    for (const type of await api.catalog.webhookEventTypes()) {
      if (flags.json) output.json(shownRecord(type, false));
      else output.data(printable(type.eventType));
    }
  });
}
