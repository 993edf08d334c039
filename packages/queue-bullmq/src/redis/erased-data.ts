import type { InboxEntry, Replay } from "@esim-webhooks/core";

/** The data that a job keeps of an event whose personal data was erased. */
export interface ErasedData extends Pick<InboxEntry, "source" | "id" | "type" | "key"> {
  /** ISO 8601. */
  readonly receivedAt: string;
  readonly replay?: Omit<Replay, "delivery">;
  /** ISO 8601. */
  readonly erasedAt: string;
}

export function erasedData(entry: InboxEntry, now: Date): ErasedData {
  const { source, id, type, receivedAt, replay, key } = entry;
  return {
    source,
    id,
    type,
    receivedAt: receivedAt.toISOString(),
    ...(replay && { replay: { run: replay.run, rebuilt: replay.rebuilt } }),
    ...(key !== undefined && { key }),
    erasedAt: now.toISOString(),
  };
}

export function isErased(data: unknown): data is ErasedData {
  const { erasedAt, body } = (data ?? {}) as { readonly erasedAt?: unknown; readonly body?: unknown };
  return typeof erasedAt === "string" && body === undefined;
}
