/** Splits bytes into records, chunk by chunk. Both throw `damaged_dump` where the structure is lost. */
export interface Splitter {
  write(bytes: Buffer): void;
  /** To be called where the bytes have come to their end. */
  end(): void;
  /** To be called instead where they were cut: what is held and whole all the same is given out. */
  cut?(): void;
}
