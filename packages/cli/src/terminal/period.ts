import { instant } from "@esim-webhooks/core/internal";

/** `from 2026-11-20 12:00:00Z to 2026-11-20 14:00:00Z`. The end is the next whole second: rounded down, it would leave out the rest of that second. */
export function spanOf({ from, to }: { readonly from: string; readonly to: string | null }): string {
  const end = to === null ? "now" : instant(new Date(Math.ceil(Date.parse(to) / 1000) * 1000));
  return `from ${instant(new Date(from))} to ${end}`;
}
