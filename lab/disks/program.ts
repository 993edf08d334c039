// The process that has the layer: `program.ts [part of the name of a writer] [most calls of each, default 40] [seed]`. Ends with 1 if a
// promise was broken, or if a skipped sync was not noticed although no fewer calls than the default were tried.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Random, seededRandom } from "../simulation/random.ts";
import { importWriter } from "./import-writer.ts";
import { installInlineThreads } from "./inline-threads.ts";
import { keyWriters } from "./key-writers.ts";
import { type DiskFault, diskFaults, loadedLayer } from "./layer.ts";
import { sqliteWriters } from "./sqlite-writers.ts";
import {
  type Broken,
  createTrials,
  cutsOfCall,
  type Recording,
  syncsIn,
  type Trials,
  withoutSync,
} from "./trials.ts";
import type { Writer } from "./writer.ts";

const mostShown = 5;
/** A file system with a journal includes the draft's name in the next sync of the key file's folder. Without a journal, the draft is empty, and ignored. */
const redundantSyncs = ["key file: keys.draft-…"];

const defaultCalls = 40;
const [part = "", most = defaultCalls, seed = "1"] = process.argv.slice(2);
const mostCalls = Number(most);
const layer = loadedLayer();
const copies = join(layer.folder, "..", "copies");
mkdirSync(copies);
process.removeAllListeners("warning"); // the product warns of each full disk
installInlineThreads();

for (const writer of [...keyWriters, ...sqliteWriters, importWriter]) {
  if (!writer.name.includes(part)) continue;
  const random = seededRandom(`${seed} ${writer.name}`);
  const trials = createTrials(layer, copies, random);
  const recording = await trials.record(writer);
  await tryCalls(writer, trials, recording, random);
  await skipSyncs(writer, trials, recording, random);
}

/** At each call of a sample: cuts the power, and lets the disk fail in each way. */
async function tryCalls(writer: Writer, trials: Trials, recording: Recording, random: Random): Promise<void> {
  const calls = sample(recording.calls.length, random);
  const cutAt = withAcknowledged(recording, calls);
  const broken: Broken[] = [];
  for await (const each of trials.cut(writer, recording, cutAt)) broken.push(each);
  const faults = Object.keys(diskFaults) as DiskFault[];
  for (const fault of faults)
    for (const call of calls) for await (const each of trials.fail(writer, call, fault)) broken.push(each);
  const cuts = (cutAt.length + faults.length * calls.length) * cutsOfCall;
  console.log(
    `${writer.name}: ${calls.length} of ${recording.calls.length} calls, ${cuts} power cuts, ${faults.length * calls.length} faults, ${broken.length} broken promises`,
  );
  for (const { call, after, error } of broken.slice(0, mostShown))
    console.log(`  call ${call}, ${after}:`, error);
  if (broken.length > 0) process.exitCode = 1;
}

/** A build that skips a sync must lose something, or these trials show nothing. */
async function skipSyncs(
  writer: Writer,
  trials: Trials,
  recording: Recording,
  random: Random,
): Promise<void> {
  for (const sync of syncsIn(recording)) {
    const skipped = withoutSync(recording, sync);
    const calls = withAcknowledged(skipped, sample(skipped.calls.length, random));
    const found = trials.cut(writer, skipped, calls);
    const isNoticed = (await found.next()).done !== true;
    await found.return(undefined);
    console.log(`  without the sync of ${sync}: ${isNoticed ? "noticed" : "not noticed"}`);
    const isNeeded = mostCalls >= defaultCalls && !redundantSyncs.includes(`${writer.name}: ${sync}`);
    if (!isNoticed && isNeeded) process.exitCode = 1;
  }
}

/** With the moments right after something was acknowledged: most mistakes show there. */
function withAcknowledged({ calls }: Recording, sampled: readonly number[]): readonly number[] {
  return [...calls.keys()].filter(
    (index) => sampled.includes(index) || calls[index]?.call === "acknowledged",
  );
}

/** At most `mostCalls` of the numbers below `length`, in ascending order. */
function sample(length: number, random: Random): readonly number[] {
  const left = Array.from({ length }, (_, n) => n);
  while (left.length > mostCalls) left.splice(random.below(left.length), 1);
  return left;
}
