// The process that has a layer: `program.ts files|postgres [part of the name of a writer] [most calls of each, default 40] [seed]`. Ends with
// 1 if a promise was broken, or if a skipped sync or a broken build was not noticed with 40 calls or more.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Random, seededRandom } from "../simulation/random.ts";
import { importWriter } from "./import-writer.ts";
import { installInlineThreads } from "./inline-threads.ts";
import { keyWriters } from "./key-writers.ts";
import { loadedLayer } from "./layer.ts";
import { brokenPostgres, postgresWriter } from "./postgres-writer.ts";
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
const [layerName, part = "", most = defaultCalls, seed = "1"] = process.argv.slice(2);
const mostCalls = Number(most);
const layer = loadedLayer();
const copies = join(layer.folder, "..", "copies");
mkdirSync(copies);
process.removeAllListeners("warning"); // the product warns of each full disk
installInlineThreads();

const writers = layerName === "files" ? [...keyWriters, ...sqliteWriters, importWriter] : [postgresWriter];
const named = writers.filter(({ name }) => name.includes(part));
if (named.length === 0) {
  console.error(
    `Name a part of one of these writers: ${writers.map(({ name }) => name).join(", ")}, postgres.`,
  );
  process.exitCode = 1;
}
for (const writer of named) {
  const random = seededRandom(`${seed} ${writer.name}`);
  const trials = createTrials(layer, copies, random);
  const recording = await trials.record(writer);
  await tryCalls(writer, trials, recording, random);
  if (writer === postgresWriter) await tryBrokenBuilds(trials, random);
  else await skipSyncs(writer, trials, recording, random);
}

/** At each call of a sample: cuts the power, and lets the disk fail in each way. */
async function tryCalls(writer: Writer, trials: Trials, recording: Recording, random: Random): Promise<void> {
  const calls = sample([...recording.calls.keys()], mostCalls, random);
  const moments = withAcknowledged(recording, calls);
  const cutAt = writer.isSlow ? sample(moments, mostCalls, random) : moments;
  const broken: Broken[] = [];
  for await (const each of trials.cut(writer, recording, cutAt)) broken.push(each);
  const failing = writer.isSlow ? sample(calls, Math.floor(mostCalls / 20), random) : calls;
  for (const fault of writer.faults)
    for (const call of failing) for await (const each of trials.fail(writer, call, fault)) broken.push(each);
  const faults = writer.faults.length * failing.length;
  const cuts = (cutAt.length + faults) * cutsOfCall(writer);
  console.log(
    `${writer.name}: ${calls.length} of ${recording.calls.length} calls, ${cuts} power cuts, ${faults} faults, ${broken.length} broken promises`,
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
    const isNeeded = !redundantSyncs.includes(`${writer.name}: ${sync}`);
    await expectNoticed(`without the sync of ${sync}`, writer, trials, skipped, random, isNeeded);
  }
}

async function tryBrokenBuilds(trials: Trials, random: Random): Promise<void> {
  for (const [name, build] of Object.entries(brokenPostgres))
    await expectNoticed(name, build, trials, await trials.record(build), random, true);
}

/** Cuts the power until a promise is broken. */
async function expectNoticed(
  name: string,
  writer: Writer,
  trials: Trials,
  recording: Recording,
  random: Random,
  isNeeded: boolean,
): Promise<void> {
  const calls = withAcknowledged(recording, sample([...recording.calls.keys()], mostCalls, random));
  const found = trials.cut(writer, recording, calls);
  const first = await found.next();
  await found.return(undefined);
  const how = !first.done && writer.isSlow ? `, at ${first.value.after}: ${first.value.error}` : "";
  console.log(`  ${name}: ${first.done ? "not noticed" : `noticed${how}`}`);
  if (first.done && isNeeded && mostCalls >= defaultCalls) process.exitCode = 1;
}

/** With the moments right after something was acknowledged: most mistakes show there. */
function withAcknowledged({ calls }: Recording, sampled: readonly number[]): readonly number[] {
  return [...calls.keys()].filter(
    (index) => sampled.includes(index) || calls[index]?.call === "acknowledged",
  );
}

/** At most this many of the numbers, in their order. */
function sample(numbers: readonly number[], most: number, random: Random): readonly number[] {
  const left = [...numbers];
  while (left.length > most) left.splice(random.below(left.length), 1);
  return left;
}
