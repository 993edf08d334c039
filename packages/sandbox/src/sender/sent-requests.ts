/** What was sent with an attempt, beside its body. */
export interface SentRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** The real time, in ms since the Unix epoch. */
  readonly sentAt: number;
}

/** The requests of the latest attempts: in memory alone, and of so many deliveries at most. */
export interface SentRequests {
  /** @param sequence the delivery's: its attempts before are forgotten */
  keep(sequence: number, request: SentRequest): void;
  of(sequence: number): SentRequest | undefined;
}

const keptDeliveries = 1000;

export function createSentRequests(): SentRequests {
  const kept = new Map<number, SentRequest>(); // the oldest first
  return {
    keep(sequence, request) {
      kept.delete(sequence);
      kept.set(sequence, request);
      if (kept.size > keptDeliveries) kept.delete(kept.keys().next().value as number);
    },
    of: (sequence) => kept.get(sequence),
  };
}
