// npm run lab [-- model | faults]
import { runModel } from "./model/main.ts";

const parts = {
  model: runModel,
} as const;

const [wanted] = process.argv.slice(2);
if (wanted !== undefined && !(wanted in parts)) {
  console.error(
    `There is no part ${JSON.stringify(wanted)} of the laboratory. Name one of: ${Object.keys(parts).join(", ")}; or none, for all.`,
  );
  process.exit(2);
}
const names = Object.keys(parts) as (keyof typeof parts)[];
for (const name of wanted === undefined ? names : [wanted as keyof typeof parts])
  if (!(await parts[name]())) process.exitCode = 1;
