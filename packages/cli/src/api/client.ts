import type { CliContext } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import { layoutFor } from "../terminal/layout.ts";
import { unpainted } from "../terminal/paint.ts";
import { count } from "../terminal/quantities.ts";
import type { ReadFlags } from "./flags.ts";
import { shownRecord, shownText } from "./shown-record.ts";
import { withApi } from "./with-api.ts";

export async function client(this: CliContext, flags: ReadFlags): Promise<void> {
  const { output, process } = this;
  const { json = false, reveal = false } = flags;
  await withApi(this, flags, async (api) => {
    const found = await api.client.get();
    if (json) return output.json(shownRecord(found, reveal));
    const { paint = unpainted } = layoutFor(process.stdout);
    const text = (value: string) => printable(shownText(value, reveal));
    const facts = {
      reference: text(found.clientReference),
      name: text(found.name),
      "default variant": text(found.defaultEsimVariant ?? "none: orders must name one"),
      "most profiles": count(found.limits.maxProfiles),
    };
    for (const [name, value] of Object.entries(facts))
      output.data(`${paint("faint", name.padEnd(15))}  ${value}`);
  });
}
