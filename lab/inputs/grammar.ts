import type { Random } from "../simulation/random.ts";

/** The parts of an input, a character for each byte. */
export type Input = readonly string[];

/**
 * The alternatives of each rule. `<name>` in one of them stands for an alternative of that rule. The first alternative should end a recursion:
 * it is taken where rules are nested deeply.
 */
export type Grammar = Readonly<Record<string, readonly string[] | ((random: Random) => string)>>;

/** Text as one character for each of its bytes in UTF-8. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString("latin1");
}

/** The text whose bytes in UTF-8 are these characters. */
export function textOf(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString();
}

const deepest = 24;

/** Generates a text of a template. */
export function generate(grammar: Grammar, template: string, random: Random, depth: number = 0): string {
  return template.replace(/<([a-z]+)>/g, (whole, name: string) => {
    const rule = Object.hasOwn(grammar, name) ? grammar[name] : undefined;
    if (rule === undefined) return whole;
    if (typeof rule === "function") return rule(random);
    return generate(grammar, depth < deepest ? random.pick(rule) : (rule[0] ?? ""), random, depth + 1);
  });
}

/** The texts in a grammar that are no rules, to insert anywhere. */
export function tokensOf(grammar: Grammar): readonly string[] {
  const alternatives = Object.values(grammar).flatMap((rule) => (typeof rule === "function" ? [] : rule));
  return [...new Set(alternatives.flatMap((one) => one.split(/<[a-z]+>/)))].filter((token) => token !== "");
}

const longest = 64 * 1024;
const oddNumbers = ["0", "-1", "1e999", "9007199254740993", "4294967296", "0.5", "00"];

type Mutation = (text: string, from: number, to: number, random: Random, other: string) => string;

const put = (text: string, from: number, to: number, middle: string) =>
  text.slice(0, from) + middle + text.slice(to);

const mutations: readonly Mutation[] = [
  (text, from, to) => put(text, from, to, ""),
  (text, from, to) => put(text, from, from, text.slice(from, to)),
  (text, from, _to, random) => put(text, from, from + 1, String.fromCharCode(random.below(256))),
  (text, from, _to, random) =>
    put(text, from, from + 1, String.fromCharCode((text.charCodeAt(from) ^ (1 << random.below(8))) & 255)),
  (text, from) => text.slice(0, from),
  (text, from, to, random, other) => put(text, from, to, sliceOf(other, random)),
  (text, from, _to, random, other) => put(text, from, from, sliceOf(other, random)),
  (text, from, to) => put(text, from, to, [...text.slice(from, to)].reverse().join("")),
  (text, from, _to, random) =>
    put(
      text,
      from,
      text.length,
      text.slice(from).replace(/\d+/, () => random.pick(oddNumbers)),
    ),
  (text, from, to, random) =>
    put(text, from, to, repeated(text.slice(from, to), 2 ** random.below(random.chance(0.02) ? 16 : 6))),
];

function repeated(text: string, times: number): string {
  return text.repeat(Math.min(times, Math.ceil(longest / (text.length + 1))));
}

function sliceOf(text: string, random: Random): string {
  const from = random.below(text.length);
  return text.slice(from, from + 1 + random.below(text.length - from));
}

/** Changes a text in one to four places. `tokens` and `others` are what may be inserted. */
export function mutate(
  text: string,
  random: Random,
  tokens: readonly string[],
  others: readonly string[],
): string {
  let changed = text;
  for (let left = 1 + random.below(4); left > 0; left -= 1) {
    const from = random.below(changed.length + 1);
    const to = Math.min(changed.length, from + 1 + random.below(random.chance(0.8) ? 8 : changed.length));
    const other = random.chance(0.6) ? random.pick(tokens) : random.pick(others);
    changed = random.pick(mutations)(changed, from, to, random, other ?? "");
    if (changed.length > longest) changed = changed.slice(0, longest);
  }
  return changed;
}
