/** The three headers of a signed delivery (Standard Webhooks v1). */
export type SignatureHeaders = Readonly<
  Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>
>;

/** How far a delivery's timestamp is from the time of the machine that verifies it. */
export interface Skew {
  /** `past`: it was signed before that time. `future`: after it. */
  readonly direction: "past" | "future";
  /** At least 1. */
  readonly seconds: number;
}

interface Refused<Code extends string> {
  /** False. In a `Proof`, it is true. */
  readonly ok: false;
  /** The check that failed. Stable, for programs. */
  readonly code: Code;
  /** The exact mistake, without the values themselves. For logs, never for answers. */
  readonly reason: string;
}

/** Headers of the signature (Standard Webhooks v1) are missing or malformed, so nothing was compared. */
export interface HeaderRefusal extends Refused<"missing_header" | "malformed_header"> {
  /** All headers that are missing; or the one that is malformed, in which case none is missing. */
  readonly headers: readonly (keyof SignatureHeaders)[];
}

/** Authentic, but no store can hold its id, or its timestamp is not 1 to 16 digits. */
export interface UnusableRefusal extends Refused<"unusable_header"> {
  /** The header that cannot be used. */
  readonly headers: readonly [keyof SignatureHeaders];
  /** The fingerprint of the key that made the signature. */
  readonly key: string;
}

/** Authentic, but the timestamp is further from the time of receipt than `toleranceSeconds` allows. */
export interface SkewRefusal extends Refused<"timestamp_out_of_tolerance"> {
  /** How far the timestamp is from the time of receipt. */
  readonly skew: Skew;
}

/** Authentic, but the window of the key that made the signature begins after the time of receipt. */
export interface EarlyKeyRefusal extends Refused<"key_not_yet_valid"> {
  /** The fingerprint of that key. */
  readonly key: string;
}

/** Forged or altered; or signed with another secret, or with a key whose window has ended. */
export interface NoMatchingKey extends Refused<"no_matching_key"> {
  /** The fingerprint of the key that made the signature, if its window has ended. */
  readonly endedKey?: string;
}

/**
 * Why a delivery is not accepted. A value: forged deliveries are expected, not exceptional. With `no_matching_key`, none
 * of the valid keys made the signature.
 */
export type Refusal = HeaderRefusal | UnusableRefusal | SkewRefusal | EarlyKeyRefusal | NoMatchingKey;
