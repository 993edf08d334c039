// The process that has the layer: `program.ts [part of the name of a writer]`
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "../simulation/random.ts";
import { importWriter } from "./import-writer.ts";
import { keyWriters } from "./key-writers.ts";
import { loadedLayer } from "./layer.ts";
import { sqliteWriters } from "./sqlite-writers.ts";
import { createTrials } from "./trial.ts";

const [part = "", mostTrials = "Infinity", seed = "1"] = process.argv.slice(2);
const layer = loadedLayer();
const copies = join(layer.folder, "..", "copies");
mkdirSync(copies);
const trials = createTrials(layer, copies, seededRandom(seed));
for (const writer of [...keyWriters, ...sqliteWriters, importWriter].filter(({ name }) => name.includes(part))) {
  const recording = await trials.record(writer);
  console.log(writer.name, recording.calls.length, mostTrials);
  for (const call of recording.calls) console.log("  ", { ...call, data: undefined });
  let t = performance.now();
  for await (const b of trials.cut(writer, recording, recording.calls.map((_, n) => n))) console.log(b.call, b.after, b.error);
  console.log("cuts", performance.now() - t);
  for (const error of ["EIO", "ENOSPC"] as const) {
    t = performance.now();
    for (let n = 0; n < recording.calls.length; n++) for await (const b of trials.fail(writer, n, error)) console.log(b.call, b.after, b.error);
    console.log(error, performance.now() - t);
  }
}
