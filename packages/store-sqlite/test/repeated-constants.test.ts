import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  erasedError,
  leaseEnded,
  longWaitMs,
  minutesKeptMs,
  mostCounted,
  mostRunNotes,
  workerGoneMs,
} from "@esim-webhooks/core/engine";
import { frameStart, packageVersion } from "@esim-webhooks/core/internal";
import { describe, expect, it } from "vitest";

const packages = join(import.meta.dirname, "../..");

function sourceOf(file: string): string {
  return readFileSync(join(packages, file), "utf8");
}

/** The value of a constant in a file that does not export it: a number or a text. */
function constantIn(file: string, name: string): unknown {
  const [, value = ""] =
    new RegExp(`const ${name} = ([\\d_]+|"(?:[^"\\\\]|\\\\.)*"|\`[^\`$]*\`);`).exec(sourceOf(file)) ?? [];
  return value.startsWith("`") ? value.slice(1, -1) : JSON.parse(value.replaceAll(/(?<=\d)_/g, ""));
}

describe("the thread, which loads no other package, repeats constants as they are", () => {
  it.each([
    ["sql/notes.ts", "goneMs", workerGoneMs],
    ["sql/notes.ts", "mostRuns", mostRunNotes],
    ["sql/notes.ts", "minutesKeptMs", minutesKeptMs],
    ["sql/lane.ts", "longWaitMs", longWaitMs],
    ["sql/gauges.ts", "cap", mostCounted],
    ["sql/filter.ts", "frameStart", frameStart],
    ["sql/lease.ts", "leaseEndedAttempt", `'${leaseEnded}'`],
    ["database/version.ts", "packageVersion", packageVersion],
  ])("in core: %s, %s", (file, name, expected) => {
    expect(constantIn(`store-sqlite/src/${file}`, name)).toBe(expected);
  });

  it("in core: the error of an erased event", () => {
    expect(sourceOf("store-sqlite/src/sql/erase.ts")).toContain(`error = '${erasedError}'`);
  });

  it("in store-postgres: the longest error", () => {
    const [here, there] = ["store-sqlite", "store-postgres"].map((store) =>
      constantIn(`${store}/src/sql/settle.ts`, "longestError"),
    );
    expect(here).toBe(there);
  });

  it("in store-postgres: why an event whose lease has ended is ready again", () => {
    const text = constantIn("store-sqlite/src/sql/lease.ts", "leaseEnded");
    expect(sourceOf("store-postgres/src/sql/take.ts")).toContain(`'${text}'`);
  });
});
