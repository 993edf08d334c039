import { styleText } from "node:util";
import type { Answer } from "./receiver.ts";

/** Something that happened, the answers of the receiver to it, and how often the handler ran. */
export interface Step {
  readonly what: string;
  /** The expected outcomes, in any order. One "duplicate" more is always right: the service may deliver again. */
  readonly outcomes: readonly string[];
  readonly answers: readonly Answer[];
  readonly runs: number;
}

/** Does something, waits until its events were sent and answered, and notes the step. */
export type RunStep = (what: string, outcomes: readonly string[], act: () => unknown) => Promise<void>;

/** What the demo has counted, on both sides. */
export interface Counts {
  /** The ids of all events that the service has sent. */
  readonly events: ReadonlySet<string>;
  /** Those of them that no receiver can take: they are not of the expected form. */
  readonly invalid: number;
  /** The ids for which the handler ran. */
  readonly runs: readonly string[];
  /** The ids for which the handler had its effect. */
  readonly effects: readonly string[];
  /** How many events took effect otherwise than by a delivery: by an import, or by a worker. */
  readonly otherwise: number;
}

/** Prints the steps and the ledger. True when every step went as expected and the ledger balances. */
export function report(steps: readonly Step[], counts: Counts): boolean {
  printTable(steps);
  const outcomes = steps.flatMap(({ answers }) => answers.map(({ outcome }) => outcome));
  console.log(`\n${outcomes.length} deliveries: ${tally(outcomes).replaceAll(" ", ", ")}`);
  const { events, invalid, runs, effects, otherwise } = counts;
  const processed = outcomes.filter((outcome) => outcome === "processed").length;
  const failed = outcomes.filter((outcome) => outcome === "failed").length;
  const ledger: [string, number, number][] = [
    ["handler runs = processed + imported + worked + failed", runs.length, processed + otherwise + failed],
    ["effects      = processed + imported + worked", effects.length, processed + otherwise],
    ["effects      = different events, once each", effects.length, new Set(effects).size],
    ["effects      = events of the service that are valid", effects.length, events.size - invalid],
    ["effects of events that the service has not sent", effects.filter((id) => !events.has(id)).length, 0],
  ];
  const width = Math.max(...ledger.map(([what]) => what.length));
  console.log(styleText("bold", "\nledger"));
  for (const [what, left, right] of ledger) {
    console.log(`${what.padEnd(width)} ${String(left).padStart(3)} = ${right} ${left === right ? "✓" : "✗"}`);
  }
  const balanced = ledger.every(([, left, right]) => left === right) && steps.every(asExpected);
  console.log(
    balanced
      ? styleText("green", "\nThe ledger balances: no event was lost, and none took effect twice.")
      : styleText("red", "\nThe ledger does not balance, or a step had an unexpected outcome."),
  );
  return balanced;
}

function printTable(steps: readonly Step[]): void {
  const rows = steps.map(({ what, answers, runs }) => [
    what,
    tally(answers.map(({ status }) => String(status))),
    tally(answers.map(({ outcome }) => outcome)),
    String(runs),
  ]);
  const header = ["what happened", "status", "outcome", "handler runs"];
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  console.log(styleText("bold", line(header)));
  for (const [index, step] of steps.entries()) {
    const mark = asExpected(step) ? styleText("green", "✓") : styleText("red", "✗ not as expected");
    console.log(`${line(rows[index] ?? [])}  ${mark}`);
  }
}

function asExpected({ outcomes, answers }: Step): boolean {
  const actual = answers.map(({ outcome }) => outcome);
  const sorted = (list: readonly string[]) => [...list].sort().join();
  return [actual, actual.toSpliced(actual.indexOf("duplicate"), 1)].some(
    (list) => sorted(list) === sorted(outcomes),
  );
}

/** `200`, or `1×200 4×503` for several. */
function tally(values: readonly string[]): string {
  if (values.length === 0) return "–";
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => (values.length === 1 ? value : `${count}×${value}`)).join(" ");
}
