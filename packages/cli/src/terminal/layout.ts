import { type Paint, paintFor } from "./paint.ts";

/** How a stream's lines are laid out. */
export interface Layout {
  /** The terminal's columns; left out where there is none, and nothing has to be cut. */
  readonly width?: number;
  readonly paint?: Paint;
}

export function layoutFor(stream: NodeJS.WriteStream): Layout {
  const paint = paintFor(stream);
  return stream.isTTY && stream.columns > 0 ? { width: stream.columns, paint } : { paint };
}
