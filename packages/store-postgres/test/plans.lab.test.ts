import { goesByIndexes } from "./plans.ts";

goesByIndexes(1_000_000);
