import type { Service } from "../../base/service.ts";
import { HttpRefusal } from "./error-answer.ts";

/** The key of a call that is under way. It is unique for its client; the URL plays no part. */
export interface KeyInUse {
  readonly clientReference: string;
  readonly key: string;
  readonly fingerprint: string;
}

/** An answer that is given again. */
export interface KeptAnswer {
  readonly status: number;
  /** Null: the answer has no body. */
  readonly contentType: string | null;
  readonly body: string;
}

export interface IdempotencyKeys {
  /**
   * Returns the answer that was kept for the key. Without one the key is in flight until `end`.
   * Throws a refusal if it is in flight already, or was used with another body.
   */
  begin(use: KeyInUse): KeptAnswer | undefined;
  /** Keeps the answer for 48 hours, in the open transaction if there is one. An answer that is kept already stays. */
  keep(use: KeyInUse, answer: KeptAnswer): void;
  end(use: KeyInUse): void;
}

const lifetimeMs = 48 * 60 * 60 * 1000;

/**
 * The keys in flight are known to this process only, and end with it. Answers are in the database, so that a key is still known after a
 * restart.
 */
export function createIdempotencyKeys({ db, clock, switches }: Service): IdempotencyKeys {
  const inFlight = new Map<string, KeyInUse>();
  const nameOf = (use: KeyInUse) => `${use.clientReference} ${use.key}`;

  function begin(use: KeyInUse): KeptAnswer | undefined {
    const first = inFlight.get(nameOf(use));
    const kept = db.get<KeptAnswer & { fingerprint: string }>(
      `select fingerprint, status, contentType, body from idempotencyKeys
       where clientReference = ? and idempotencyKey = ? and createdAt > ?`,
      use.clientReference,
      use.key,
      clock.now() - lifetimeMs,
    );
    if ((first ?? kept ?? use).fingerprint !== use.fingerprint) {
      throw new HttpRefusal(
        422,
        "The idempotency key was used with another body. Use a new key for each operation, on all paths.",
      );
    }
    if (first !== undefined) {
      throw new HttpRefusal(
        Number(switches.inFlight),
        "The first call with this idempotency key is still being processed. Try again with the same key.",
        { "retry-after": "1" },
      );
    }
    if (kept === undefined) inFlight.set(nameOf(use), use);
    return kept;
  }

  function keep(use: KeyInUse, answer: KeptAnswer): void {
    db.run("delete from idempotencyKeys where createdAt <= ?", clock.now() - lifetimeMs);
    db.run(
      `insert into idempotencyKeys (clientReference, idempotencyKey, fingerprint, status, contentType, body, createdAt)
       values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
      use.clientReference,
      use.key,
      use.fingerprint,
      answer.status,
      answer.contentType,
      answer.body,
      clock.now(),
    );
  }

  return { begin, keep, end: (use) => inFlight.delete(nameOf(use)) };
}
