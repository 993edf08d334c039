import { type Lifecycle, WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "../base/errors.ts";
import { isRerunMark } from "./rerun-store.ts";

/**
 * For an import that names no source. Rejects with `source_missing` if the inbox or the store holds only events of other
 * sources: under the default source, each of them would run a second time. Some cannot tell, and are not asked.
 */
export async function refuseOtherSources(
  holder: Pick<Lifecycle, "sources">,
  defaultSource: string,
): Promise<void> {
  const held = ((await holder.sources?.()) ?? []).filter((source) => !isRerunMark(source));
  if (held.length === 0 || held.includes(defaultSource)) return;
  const names = held.map((source) => `"${source}"`).join(", ");
  throw new WebhookError<ImportErrorCode>(
    "source_missing",
    `The target holds only events of the source ${names}, and the import names none: each of them would run a second time.`,
    `Set { source: "${held[0]}" }, or { source: "${defaultSource}" } for another endpoint.`,
  );
}
