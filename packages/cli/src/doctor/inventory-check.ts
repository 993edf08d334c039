import { type ApiClient, ApiError, type EsimVariant } from "@esim-webhooks/client";
import { printable } from "@esim-webhooks/core/log-lines";
import { maskedText } from "../api/shown-record.ts";
import { counted } from "../terminal/quantities.ts";
import { type Check, failed, passed, warned } from "./check.ts";
import type { DoctorFlags } from "./flags.ts";

/** Checks the stock of the variants in use. Fails if one has at most --inventory eSIMs, or is not offered; without it, warns if one has none. */
export async function checkInventory(
  api: Pick<ApiClient, "catalog">,
  { inventory: bound, variants }: Pick<DoctorFlags, "inventory" | "variants">,
): Promise<Check> {
  const all = await api.catalog.esimVariants().catch((error: unknown) => {
    if (error instanceof ApiError && error.code === "forbidden") return [];
    throw error;
  });
  const gone = variants?.filter((name) => !all.some(({ esimVariant }) => esimVariant === name)) ?? [];
  if (gone.length > 0) {
    const names = gone.map(printable).join(", ");
    return failed(
      "inventory",
      `The client may not order ${names}. esim-webhooks api variants lists what it may.`,
    );
  }
  const used = all.filter(({ esimVariant }) => !variants || variants.includes(esimVariant ?? ""));
  const known = used.filter(({ inventory }) => inventory !== undefined);
  if (known.length === 0) return passed("inventory", "the service shows none of its stock to this client");
  const low = known.filter((variant) => availableOf(variant) <= (bound ?? 0));
  if (low.length === 0) return passed("inventory", known.map(stockOf).join("; "));
  const problem = `${low.map(stockOf).join("; ")}. An order is refused when none is left: ask the provider for more.`;
  return bound === undefined ? warned("inventory", problem) : failed("inventory", problem);
}

function availableOf({ inventory }: EsimVariant): number {
  return inventory?.available ?? 0;
}

function stockOf(variant: EsimVariant): string {
  const name = maskedText(variant.esimVariant ?? "a variant");
  const available = availableOf(variant);
  return `${available === 0 ? "no eSIM" : counted(available, "eSIM")} of ${name} left`;
}
