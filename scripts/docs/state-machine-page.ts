import {
  checks,
  crashPoints,
  guards,
  type Pattern,
  type Row,
  type Transition,
  table,
} from "../../lab/model/state-machine.ts";

const transitions: readonly (readonly [string, Transition])[] = Object.entries(table);

/** The page, with its diagram and its tables made from the transitions in `lab/model/state-machine.ts`. */
export function stateMachinePage(page: string): string {
  const parts = {
    diagram: diagram(),
    transitions: transitionTable("inbox"),
    checks: Object.values(checks)
      .flatMap((each) => Object.values(each))
      .map((sentence) => `- ${sentence[0]?.toUpperCase()}${sentence.slice(1)}.`)
      .join("\n"),
    "crash points": [
      "| a process is killed | it leaves | then |",
      "|---|---|---|",
      ...Object.values(crashPoints).map(
        ({ who, when, left, next }) => `| ${who}, ${when} | ${left} | ${next} |`,
      ),
    ].join("\n"),
    "dedupe transitions": transitionTable("dedupe"),
  };
  return Object.entries(parts).reduce((text, [name, part]) => between(text, name, part), page);
}

/** The page with this text between the two comments that name it. */
export function between(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}: npm run docs -->`, `<!-- end of ${name} -->`];
  const [before = "", rest = ""] = page.split(begin);
  const [, after = ""] = rest.split(end);
  return `${before}${begin}\n\n${text}\n\n${end}${after}`;
}

/** The states and what moves an event between them, each arrow once. */
function diagram(): string {
  const arrows = new Map<string, string[]>();
  for (const [name, { part, from, to }] of transitions) {
    if (part !== "inbox") continue;
    for (const state of from.state) {
      const arrow = `${nodeOf(state)} --> ${nodeOf(to.state === "same" ? state : to.state)}`;
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), name]);
    }
  }
  const lines = [...arrows].map(([arrow, names]) => `  ${arrow}: ${labelOf(names)}`);
  return ["```mermaid", "stateDiagram-v2", ...lines, "```"].join("\n");
}

function nodeOf(state: Row["state"]): string {
  return state === "absent" ? "[*]" : state;
}

/** Several settlements are named once: `settle ready, waiting`. */
function labelOf(names: readonly string[]): string {
  const settlements = names.filter((name) => name.startsWith("settle ")).map((name) => name.slice(7));
  const others = new Set(
    names.filter((name) => !name.startsWith("settle ")).map((name) => name.replace(/^erase done$/, "erase")),
  );
  const settled = settlements.length === 0 ? [] : [`settle ${settlements.join(" / ")}`];
  return [...settled, ...others].join(", ");
}

function transitionTable(part: Transition["part"]): string {
  const rows = transitions
    .filter(([, transition]) => transition.part === part)
    .map(
      ([, { operation, who, from, to, guards: names, writes }]) =>
        `| ${operation} | ${who} | ${placeOf(from)} → ${targetOf(from, to)} | ${names.map((name) => guards[name]).join("; ")} | ${writes} |`,
    );
  return [
    "| operation | who calls it | from → to | only if | what it writes |",
    "|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

const ends = {
  ready: "due",
  leased: "whose lease has ended",
  done: "whose retention has ended",
  unhandled: "whose retention has ended",
} as const;

/** Describes the row before a transition. That a ready row has its body goes without saying. */
function placeOf({ state, ended, body, held, erased }: Pattern): string {
  const [first] = state;
  const marks = [
    ...(ended === true && first !== undefined && first in ends ? [ends[first as keyof typeof ends]] : []),
    ...(ended === false && first === "leased" ? ["whose lease has not ended"] : []),
    ...(body === undefined || first === "ready" ? [] : [body ? "with a body" : "without a body"]),
    ...(held === undefined ? [] : [held ? "held" : "not held"]),
    ...(erased === false ? ["not erased"] : []),
  ];
  return [state.join(", "), ...marks].join(", ");
}

function targetOf(from: Pattern, { state, ended, body, suspect, held, erased }: Transition["to"]): string {
  const isReady = (state === "same" ? from.state[0] : state) === "ready";
  const marks = [
    ...(isReady && ended && state !== "same" ? ["due"] : []),
    ...(suspect === true ? ["as a suspect"] : []),
    ...(held === true ? ["held"] : []),
    ...(held === false && state === "same" ? ["not held"] : []),
    ...(state === "same" && body !== undefined ? [body ? "with a body" : "without body"] : []),
    ...(erased === true ? ["erased"] : []),
  ];
  const name = state === "same" ? from.state.join(", ") : state;
  return [name, ...marks].join(", ");
}
