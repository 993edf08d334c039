import type { Reader } from "./reader.ts";
import { answerReaders } from "./readers/answers.ts";
import { dashboardReaders } from "./readers/dashboard.ts";
import { deliveryReaders } from "./readers/deliveries.ts";
import { dumpReaders } from "./readers/dumps.ts";
import { programReaders } from "./readers/program.ts";
import { textReaders } from "./readers/texts.ts";

/** Everything that reads what others have written. */
export const readers: readonly Reader[] = [
  ...deliveryReaders,
  ...textReaders,
  ...dumpReaders,
  ...answerReaders,
  ...dashboardReaders,
  ...programReaders,
];
