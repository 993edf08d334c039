// npm run lab [-- model | faults [part of the name of a fault]]
import { runFaults } from "./faults/main.ts";
import { runModel } from "./model/main.ts";

const parts = {
  model: runModel,
  faults: runFaults,
} as const;

const [wanted, ...given] = process.argv.slice(2);
if (wanted !== undefined && !(wanted in parts)) {
  console.error(
    `There is no part ${JSON.stringify(wanted)} of the laboratory. Name one of: ${Object.keys(parts).join(", ")}; or none, for all.`,
  );
  process.exit(2);
}
const names = Object.keys(parts) as (keyof typeof parts)[];
for (const name of wanted === undefined ? names : [wanted as keyof typeof parts])
  if (!(await parts[name](...given))) process.exitCode = 1;
