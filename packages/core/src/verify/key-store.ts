import type { KeySource } from "./key-source.ts";

/** A key as a key store keeps it. Plain JSON. */
export interface StoredKey {
  /** The secret, in any form that a receiver takes as text. */
  readonly secret: string;
  /** The key is valid from this date-time on. */
  readonly notBefore?: string;
  /** The key is valid until this date-time, exclusive. */
  readonly notAfter?: string;
  /** The reference of the endpoint whose secret it is. Receivers do not read it: it says which keys a rotation replaces. */
  readonly endpoint?: string;
}

/** The content of a key store, such as a key file. Plain JSON. */
export interface KeyRecord {
  /** The signing keys: secrets, or secrets with the window in which they are valid. */
  readonly keys: readonly (string | StoredKey)[];
  /** A rotation is under way until this date-time: see `LoadedKeys`. */
  readonly rotatingUntil?: string;
  /** The environment of the API whose endpoints have these keys. Default: production. */
  readonly environment?: "test";
  /**
   * The current step of the key change, so that the next process can continue there. Receivers do not read it.
   * It is in the same record, because it must not be durable before the keys, nor after them.
   */
  readonly change?: object;
}

/** A record and its version, which no other record of the same store has. */
export interface StoredKeys {
  /** The content as it was read. */
  readonly record: KeyRecord;
  /** Opaque. Pass it to `write`. */
  readonly version: string;
}

/**
 * A key source that can be changed: a rotation writes the keys where receivers read them. `read` and `write` must settle, so
 * limit their time: a rotation or a registration waits for them without end, and its `signal` does not change that.
 */
export interface KeyStore extends KeySource {
  /** Resolves to undefined while there is no record. Rejects with `invalid_secret` for a content that is no record. */
  read(): Promise<StoredKeys | undefined>;
  /**
   * Writes the record if the store still has `version`, which `read` returned; pass undefined for a store without a record.
   * False: another process wrote first, and nothing changed. Resolves to true once the record is durable. After a `write` that
   * rejected, read again: it may have taken effect.
   *
   * `rotateSecret`, `ensureEndpoint` and `replaceEndpoint` write again each second after a rejection: for four minutes after any error while the
   * record has a secret that was just received, else for ten seconds, and only after `store_unavailable`.
   */
  write(record: KeyRecord, version: string | undefined): Promise<boolean>;
}
