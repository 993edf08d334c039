import { type Paint, paintFor } from "./paint.ts";

/** The width and colours of a stream. */
export interface Layout {
  /** The terminal's columns. Left out without a terminal: nothing is cut then. */
  readonly width?: number;
  readonly paint?: Paint;
}

export function layoutFor(stream: NodeJS.WriteStream): Layout {
  const paint = paintFor(stream);
  return stream.isTTY && stream.columns > 0 ? { width: stream.columns, paint } : { paint };
}
