import { styleText } from "node:util";
import type { Step } from "./steps.ts";

/** The answers to a step, and how often the handler ran. */
export interface Result {
  readonly step: Step;
  readonly answers: readonly { readonly status: number; readonly outcome: string }[];
  readonly runs: number;
}

const tookEffect = ["processed", "stored"];

/** Prints the table and the ledger. True when every step went as expected and the ledger balances. */
export function report(
  results: readonly Result[],
  runs: readonly string[],
  effects: readonly string[],
): boolean {
  const rows = results.map(({ step, answers, runs }) => [
    step.what,
    tally(answers.map(({ status }) => String(status))),
    tally(answers.map(({ outcome }) => outcome)),
    String(runs),
  ]);
  const header = ["sent", "status", "outcome", "handler runs"];
  const widths = header.map((title, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0), title.length),
  );
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  console.log(styleText("bold", line(header)));
  for (const [index, row] of rows.entries()) {
    console.log(
      `${line(row)}  ${asExpected(results[index]) ? styleText("green", "✓") : styleText("red", "✗ not as expected")}`,
    );
  }

  const outcomes = results.flatMap(({ answers }) => answers.map(({ outcome }) => outcome));
  const sent = results.flatMap(({ step }) => step.sent);
  const effective = outcomes.filter((outcome) => tookEffect.includes(outcome)).length;
  const failed = outcomes.filter((outcome) => outcome === "failed").length;
  const mustTakeEffect = results
    .filter(({ step }) => step.outcomes.some((outcome) => tookEffect.includes(outcome)))
    .flatMap(({ step }) => step.sent);
  const ledger: [string, number, number][] = [
    ["sent            = answered by the status contract", sent.length, outcomes.length],
    ["handler runs    = processed + stored + failed", runs.length, effective + failed],
    ["effects         = processed + stored", effects.length, effective],
    [
      "effects         = events that had to take effect, once each",
      effects.length,
      new Set(mustTakeEffect.map(({ id }) => id)).size,
    ],
    ["effects         = different events", effects.length, new Set(effects).size],
  ];
  console.log(`\n${sent.length} sent: ${tally(outcomes).replaceAll(" ", ", ")}`);
  const width = Math.max(...ledger.map(([what]) => what.length));
  console.log(styleText("bold", "\nledger"));
  for (const [what, left, right] of ledger) {
    console.log(`${what.padEnd(width)} ${String(left).padStart(3)} = ${right} ${left === right ? "✓" : "✗"}`);
  }
  const balanced = ledger.every(([, left, right]) => left === right) && results.every(asExpected);
  console.log(
    balanced
      ? styleText("green", "\nThe ledger balances: no event was lost, and none took effect twice.")
      : styleText("red", "\nThe ledger does not balance, or a step had an unexpected outcome."),
  );
  return balanced;
}

function asExpected(result: Result | undefined): boolean {
  if (result === undefined) return false;
  const outcomes = result.answers.map(({ outcome }) => outcome).sort();
  return result.runs === result.step.runs && outcomes.join() === [...result.step.outcomes].sort().join();
}

/** `200`, or `1×200 4×503` for several. */
function tally(values: readonly string[]): string {
  if (values.length === 0) return "–";
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => (values.length === 1 ? value : `${count}×${value}`)).join(" ");
}
