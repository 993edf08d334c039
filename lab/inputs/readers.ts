import type { Reader } from "./reader.ts";
import { deliveryReaders } from "./readers/deliveries.ts";
import { textReaders } from "./readers/texts.ts";

/** Everything that reads what others have written. */
export const readers: readonly Reader[] = [...deliveryReaders, ...textReaders];
