// npm run simulate -- --seed 7 --events 10000 [--seeds 20] [--engine server|sqlite] [--break fence]
import { parseArgs } from "node:util";
import type { Break } from "./engines.ts";
import { type EngineName, simulate } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    events: { type: "string", default: "2000" },
    engine: { type: "string" },
    break: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const report = await simulate({
  seed: Number(values.seed),
  events: Number(values.events),
  engine: values.engine as EngineName | undefined,
  broken: values.break as Break | undefined,
});
console.log(JSON.stringify(report, null, 2));
process.exit(report.failure === undefined ? 0 : 1);
