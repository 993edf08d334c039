import { styleText } from "node:util";
import type { Result } from "./receiver.ts";

/** Something that happened, what became of its events, and how often the handler ran. */
export interface Step {
  readonly what: string;
  /** The expected outcomes, in any order. One "duplicate" more is always right: the service may deliver again. */
  readonly outcomes: readonly string[];
  readonly results: readonly Result[];
  readonly runs: number;
}

/** Does something, waits until its events were sent and answered, and notes the step. */
export type RunStep = (what: string, outcomes: readonly string[], act: () => unknown) => Promise<void>;

/** The counts of the demo, on both sides. */
export interface Counts {
  /** The events that the service has sent, by id: an event may have several. */
  readonly events: ReadonlyMap<string, string>;
  /** Events that no receiver can take, because they are not of the expected form. */
  readonly invalid: number;
  /** The ids for which the handler ran. */
  readonly runs: readonly string[];
  /** The ids for which the handler had its effect. */
  readonly effects: readonly string[];
  /** The ids for which the handler had no effect, because the event had taken effect under another id. */
  readonly repeats: readonly string[];
}

/** Prints the steps and the ledger. True when every step went as expected and the ledger balances. */
export function report(steps: readonly Step[], counts: Counts): boolean {
  printTable(steps);
  const results = steps.flatMap((step) => step.results);
  const answers = results.filter(({ status }) => status !== undefined).map(({ outcome }) => outcome);
  console.log(`\n${answers.length} deliveries: ${tally(answers).replaceAll(" ", ", ")}`);
  const { events, invalid, runs, effects, repeats } = counts;
  const sumOf = (left: string, actual: number, outcomes: readonly string[]): [string, number, number] => {
    const terms = outcomes.map((name) => results.filter(({ outcome }) => outcome === name).length);
    const named = outcomes.map((name, index) => `${name} ${terms[index]}`);
    return [`${left} = ${named.join(" + ")}`, actual, terms.reduce((sum, term) => sum + term, 0)];
  };
  const inTable = steps.reduce((sum, step) => sum + step.runs, 0);
  const ledger: [string, number, number][] = [
    ["handler runs = those in the table", runs.length, inTable],
    sumOf("handler runs", runs.length, ["processed", "imported", "worked", "failed"]),
    sumOf("effects + runs under another id", effects.length + repeats.length, [
      "processed",
      "imported",
      "worked",
    ]),
    [
      "effects      = different events, once each",
      effects.length,
      new Set(effects.map((id) => events.get(id))).size,
    ],
    [
      "effects      = events of the service that are valid",
      effects.length,
      new Set(events.values()).size - invalid,
    ],
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
  const rows = steps.map(({ what, results, runs }) => [
    what,
    tally(results.flatMap(({ status }) => (status === undefined ? [] : [String(status)]))),
    tally(results.map(({ outcome }) => outcome)),
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

function asExpected({ outcomes, results }: Step): boolean {
  const actual = results.map(({ outcome }) => outcome);
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
