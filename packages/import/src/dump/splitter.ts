/** Splits bytes into records, chunk by chunk. `write` and `end` throw `damaged_dump` when no more records can be found. */
export interface Splitter {
  write(bytes: Buffer): void;
  /** Call it at the end of the bytes. */
  end(): void;
  /** Call it instead of `end` when the input failed: it adds the whole records among the held bytes. */
  cut?(): void;
}
