import type { Attempt } from "./attempt.ts";

/** The request of an attempt, without its body. */
export interface SentRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** The real time, in ms since the Unix epoch. */
  readonly sentAt: number;
}

/** The result of an attempt. */
export interface EndedAttempt {
  /** 1 for the first one. */
  readonly attemptNumber: number;
  /** RFC 3339, by the service's clock. */
  readonly sentAt: string;
  /** In real time. */
  readonly durationMs: number;
  /** Null: no answer. */
  readonly httpStatus: number | null;
  /** Why there was no answer, such as `connect ECONNREFUSED 127.0.0.1:3000`. */
  readonly error: string | null;
}

/** A delivery's latest request, and its attempts that have ended, oldest first. */
export interface SentDelivery {
  readonly request: SentRequest;
  readonly attempts: readonly EndedAttempt[];
}

/** The latest requests: in memory only, for a limited number of deliveries. */
export interface SentRequests {
  /** Keeps the request of an attempt that begins. */
  keep(attempt: Pick<Attempt, "sequence" | "number">, request: SentRequest): void;
  /** Keeps the result of an attempt. */
  end(attempt: Pick<Attempt, "sequence">, ended: EndedAttempt): void;
  /** @param sequence the number of the delivery */
  of(sequence: number): SentDelivery | undefined;
}

const keptDeliveries = 1000;

export function createSentRequests(): SentRequests {
  const kept = new Map<number, SentDelivery>(); // the oldest first
  return {
    keep({ sequence, number }, request) {
      const attempts = number === 1 ? [] : (kept.get(sequence)?.attempts ?? []);
      kept.delete(sequence);
      kept.set(sequence, { request, attempts });
      if (kept.size > keptDeliveries) kept.delete(kept.keys().next().value as number);
    },
    end({ sequence }, ended) {
      const delivery = kept.get(sequence);
      if (delivery) kept.set(sequence, { ...delivery, attempts: [...delivery.attempts, ended] });
    },
    of: (sequence) => kept.get(sequence),
  };
}
