import { runNode } from "../../test/run.ts";
import type { Break } from "../simulation/engines.ts";
import type { EngineName, SimulationReport } from "../simulation/world.ts";

/** Simulates a seed in a process of its own: a simulation replaces the clock of its process. */
export async function simulated(
  seed: number,
  events: number,
  { engine, broken }: { readonly engine?: EngineName; readonly broken?: Break } = {},
): Promise<SimulationReport> {
  const options = [
    ...["--seed", String(seed), "--events", String(events), "--json"],
    ...(engine === undefined ? [] : ["--engine", engine]),
    ...(broken === undefined ? [] : ["--break", broken]),
  ];
  const { ended } = runNode(["--disable-warning=ExperimentalWarning", "lab/simulation/main.ts", ...options]);
  const { output } = await ended;
  const line = output.split("\n").find((each) => each.startsWith("{"));
  if (line === undefined) throw new Error(`The simulation has printed no report:\n${output}`);
  return JSON.parse(line) as SimulationReport;
}
