import type { EventKey } from "@esim-webhooks/core";
import { keyText } from "@esim-webhooks/core/kit";

/** By their keys: everybody locks and writes rows in this order, so that two with the same keys wait for each other one way only. */
export function inKeyOrder<Row>(rows: readonly Row[], keyOf: (row: Row) => EventKey): Row[] {
  return [...rows].sort((a, b) => (keyText(keyOf(a)) < keyText(keyOf(b)) ? -1 : 1));
}
