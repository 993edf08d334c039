import { type Lifecycle, WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "../dump/errors.ts";
import { isRerunMark } from "./rerun-store.ts";

/**
 * Rejects with `source_unknown` if the inbox or the store holds only events of other sources: ids are unique within a source,
 * so each event would run a second time. Some cannot tell, and are not asked.
 */
export async function refuseUnknownSource(holder: Pick<Lifecycle, "sources">, source: string): Promise<void> {
  const held = ((await holder.sources?.()) ?? []).filter((name) => !isRerunMark(name));
  if (held.length === 0 || held.includes(source)) return;
  const names = held.map((name) => `"${name}"`).join(", ");
  throw new WebhookError<ImportErrorCode>(
    "source_unknown",
    `The target holds only events of the source ${names}: under "${source}", each of them would run a second time.`,
    `Set { source: "${held[0]}" }, or { newSource: true } if "${source}" is another endpoint.`,
    { option: "source", source },
  );
}
