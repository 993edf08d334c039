// The process that has the layer: `program.ts [part of the name of a writer] [most calls of each] [seed]`. Ends with 1 if a promise was broken.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Random, seededRandom } from "../simulation/random.ts";
import { importWriter } from "./import-writer.ts";
import { installInlineThreads } from "./inline-threads.ts";
import { keyWriters } from "./key-writers.ts";
import { type DiskFault, diskFaults, loadedLayer } from "./layer.ts";
import { sqliteWriters } from "./sqlite-writers.ts";
import { type Broken, createTrials, cutsOfCall, syncsIn, withoutSync } from "./trial.ts";
import type { Writer } from "./writer.ts";

const mostShown = 5;
const [part = "", mostCalls = "Infinity", seed = "1"] = process.argv.slice(2);
const layer = loadedLayer();
const copies = join(layer.folder, "..", "copies");
mkdirSync(copies);
process.removeAllListeners("warning"); // the product warns of every full disk
installInlineThreads();

for (const writer of [...keyWriters, ...sqliteWriters, importWriter])
  if (writer.name.includes(part)) await tryWriter(writer, seededRandom(`${seed} ${writer.name}`));

async function tryWriter(writer: Writer, random: Random): Promise<void> {
  const trials = createTrials(layer, copies, random);
  const recording = await trials.record(writer);
  const { length } = recording.calls;
  const calls = sample(length, Number(mostCalls), random);
  const broken: Broken[] = await Array.fromAsync(trials.cut(writer, recording, calls));
  const faults = Object.keys(diskFaults) as DiskFault[];
  for (const fault of faults)
    for (const call of calls) broken.push(...(await Array.fromAsync(trials.fail(writer, call, fault))));
  const cuts = (1 + faults.length) * cutsOfCall * calls.length;
  console.log(
    `${writer.name}: ${calls.length} of ${length} calls, ${cuts} power cuts, ${faults.length * calls.length} faults, ${broken.length} broken promises`,
  );
  for (const { call, after, error } of broken.slice(0, mostShown))
    console.log(`  call ${call}, ${after}:`, error);
  if (broken.length > 0) process.exitCode = 1;
  for (const sync of syncsIn(recording)) {
    const found = trials.cut(writer, withoutSync(recording, sync), [...recording.calls.keys()]);
    const { done } = await found.next();
    await found.return(undefined);
    console.log(`  without the sync of ${sync}: ${done ? "not noticed" : "noticed"}`);
  }
}

/** At most so many of the numbers below `length`, in ascending order. */
function sample(length: number, most: number, random: Random): readonly number[] {
  const left = Array.from({ length }, (_, n) => n);
  while (left.length > most) left.splice(random.below(left.length), 1);
  return left;
}
