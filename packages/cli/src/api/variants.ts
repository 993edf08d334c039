import type { EsimVariant } from "@esim-webhooks/client";
import type { CliContext } from "../program/context.ts";
import { printable } from "../program/printable.ts";
import { layoutFor } from "../terminal/layout.ts";
import { count } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import type { ReadFlags } from "./flags.ts";
import { shownRecord, shownText } from "./shown-record.ts";
import { withApi } from "./with-api.ts";

export async function variants(this: CliContext, flags: ReadFlags): Promise<void> {
  const { output, process } = this;
  const { json = false, reveal = false } = flags;
  await withApi(this, flags, async (api) => {
    const found = await api.catalog.esimVariants();
    if (found.length === 0) return output.note("The client may order no variant.");
    if (json) for (const variant of found) output.json(shownRecord(variant, reveal));
    else {
      const rows = found.map((variant) => row(variant, reveal));
      for (const line of table(columns, rows, layoutFor(process.stdout))) output.data(line);
    }
  });
}

const columns = [
  { title: "VARIANT" },
  { title: "DEFAULT" },
  { title: "AVAILABLE", align: "right" },
  { title: "NAME", cuts: true },
  { title: "DESCRIPTION", cuts: true },
] as const;

/** The API does not say which fields are always there. */
function row(variant: EsimVariant, reveal: boolean): string[] {
  const text = (value: string | null | undefined) => printable(shownText(value ?? "", reveal));
  return [
    text(variant.esimVariant),
    variant.default ? "yes" : "no",
    variant.inventory ? count(variant.inventory.available) : "",
    text(variant.name),
    text(variant.description),
  ];
}
