import { goesByIndexes } from "./plans.ts";

goesByIndexes(300_000);
