import type { Claim } from "@esim-webhooks/core";

/** The part of a Durable Object's state that `DedupeObject` uses. */
export interface DurableObjectState {
  /** The storage of the object, on SQLite. */
  readonly storage: {
    /** The database of the object. */
    readonly sql: {
      /** Runs a statement, with a value for each `?`. */
      exec(query: string, ...values: (string | number | null)[]): { toArray(): Record<string, unknown>[] };
    };
    /** When the alarm is due, in ms since the Unix epoch. Null: none is set. */
    getAlarm(): Promise<number | null>;
    /** Sets the alarm, in place of an earlier one. */
    setAlarm(timeMs: number): Promise<void>;
  };
  /** Delays all requests until `work` has ended. */
  blockConcurrencyWhile(work: () => Promise<void>): unknown;
}

/** A claim, as `durableObjectStore` sends it: as JSON. */
interface ClaimOperation {
  readonly name: "claim";
  /** The text of the event's key. */
  readonly key: string;
  readonly token: string;
  readonly leaseMs: number;
  readonly fingerprint?: number | null | undefined;
}

/** The JSON that `durableObjectStore` sends. */
export type Operation =
  | ClaimOperation
  | { readonly name: "extend"; readonly key: string; readonly token: string; readonly leaseMs: number }
  | { readonly name: "complete"; readonly key: string; readonly token: string; readonly keptMs: number }
  | { readonly name: "release"; readonly key: string; readonly token: string };

const dayMs = 86_400_000;

/**
 * The Durable Object behind `durableObjectStore`: one of those that share the ids. Export it from the Worker, and name it in
 * `new_sqlite_classes`. Each operation is synchronous, and so atomic; the platform sends no answer before its writes are durable.
 * Expired rows are removed once a day. There is no index for that: it would double the rows written, which cost 1,000 times those read.
 */
export class DedupeObject {
  /** For the types that `wrangler types` generates. */
  declare readonly __DURABLE_OBJECT_BRAND: never;
  readonly #storage: DurableObjectState["storage"];
  #hasAlarm = false;

  constructor(state: DurableObjectState) {
    this.#storage = state.storage;
    this.#rows(
      "create table if not exists event (key text primary key, token text not null, fingerprint integer, done integer not null, ends_at integer not null) without rowid",
    );
    state.blockConcurrencyWhile(async () => {
      this.#hasAlarm = (await state.storage.getAlarm()) !== null;
    });
  }

  /** Answers a POST of `durableObjectStore`. */
  async fetch(request: Request): Promise<Response> {
    const answer = this.#run((await request.json()) as Operation);
    if (!this.#hasAlarm) await this.#purgeTomorrow();
    return Response.json(answer);
  }

  /** Removes expired rows. Called by the platform. */
  async alarm(): Promise<void> {
    this.#hasAlarm = false;
    this.#rows("delete from event where ends_at <= ?", Date.now());
    if (this.#rows("select 1 from event limit 1").length > 0) await this.#purgeTomorrow();
  }

  async #purgeTomorrow(): Promise<void> {
    this.#hasAlarm = true;
    await this.#storage.setAlarm(Date.now() + dayMs);
  }

  #rows(query: string, ...values: (string | number | null)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...values).toArray();
  }

  #run(operation: Operation): Claim | boolean {
    const { name, key, token } = operation;
    const now = Date.now();
    switch (name) {
      case "claim":
        return this.#claim(operation, now);
      case "extend":
        return this.#changed(
          "update event set ends_at = ? where key = ? and token = ? and done = 0 and ends_at > ? returning 1",
          now + operation.leaseMs,
          key,
          token,
          now,
        );
      case "complete":
        return (
          this.#changed(
            "update event set done = 1, ends_at = ? where key = ? and token = ? and done = 0 and ends_at > ? returning 1",
            now + operation.keptMs,
            key,
            token,
            now,
          ) ||
          this.#changed(
            "select 1 from event where key = ? and token = ? and done = 1 and ends_at > ?",
            key,
            token,
            now,
          )
        );
      case "release":
        return this.#changed(
          "delete from event where key = ? and token = ? and done = 0 and ends_at > ? returning 1",
          key,
          token,
          now,
        );
    }
  }

  #changed(query: string, ...values: (string | number | null)[]): boolean {
    return this.#rows(query, ...values).length > 0;
  }

  #claim({ key, token, leaseMs, fingerprint = null }: ClaimOperation, now: number): Claim {
    const [held] = this.#rows(
      "select fingerprint, done, ends_at from event where key = ? and ends_at > ?",
      key,
      now,
    );
    if (held === undefined) {
      const endsAt = now + leaseMs;
      this.#rows("insert or replace into event values (?, ?, ?, 0, ?)", key, token, fingerprint, endsAt);
      return { status: "claimed", token };
    }
    const theirs = held["fingerprint"];
    const isOther = fingerprint !== null && theirs !== null && theirs !== fingerprint;
    const conflict = isOther && { conflict: true as const };
    return held["done"] === 1
      ? { status: "done", ...conflict }
      : { status: "busy", retryAfterMs: (held["ends_at"] as number) - now, ...conflict };
  }
}
