import type { StateStore } from "@esim-webhooks/core";
import { readPassState, stateName } from "./pass-state.ts";

/** How far `reconcile` has come with an endpoint. Times are the service's. */
export interface Watermark {
  /** What showed a time before this and is not coming is settled. */
  readonly mark: Date;
  /** About until when the events are settled. It moves on when no events come. */
  readonly settledTo: Date;
}

/**
 * Reads the watermark, for checks. Resolves to undefined before the first pass. Rejects with `invalid_state`, and as the
 * store's `read` does.
 */
export async function readWatermark(
  state: Pick<StateStore, "read">,
  endpointReference: string,
): Promise<Watermark | undefined> {
  const name = stateName(endpointReference);
  const stored = await state.read(name);
  if (stored === undefined) return undefined;
  const { mark, settledTo } = readPassState(name, stored.value);
  return { mark: new Date(mark), settledTo: new Date(settledTo) };
}
