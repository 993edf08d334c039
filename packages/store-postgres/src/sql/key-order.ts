import type { EventKey } from "@esim-webhooks/core";
import { keyText } from "@esim-webhooks/core/kit";

/** Sorts rows by key. All statements lock rows in this order, so that two with the same keys cannot deadlock. */
export function inKeyOrder<Row>(rows: readonly Row[], keyOf: (row: Row) => EventKey): Row[] {
  return [...rows].sort((a, b) => (keyText(keyOf(a)) < keyText(keyOf(b)) ? -1 : 1));
}
