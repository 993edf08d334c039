import { setFlagsFromString } from "node:v8";

/** Or V8 lets 100 to 200 MB of garbage gather before it cleans up. An import takes no longer so (bench/README.md). */
export function keepHeapSmall(): void {
  for (const flag of ["--semi-space-growth-factor=1", "--heap-growing-percent=20"]) setFlagsFromString(flag);
}
