import { esimCatalog } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import type { Random } from "../simulation/random.ts";
import { bytesOf, type Grammar } from "./grammar.ts";
import { privates } from "./reader.ts";

const units = [
  "[",
  '{"a":',
  "9",
  " ",
  "a",
  ",",
  "1,",
  '"a",',
  "\\u0000",
  "\n",
  "=",
  "-",
  "v1,x ",
  bytesOf("é"),
];
// JSON.parse alone takes 60 ms or more for 100,000 levels: docs/reliability.md
const levels = [10, 63, 64, 65, 999, 1001, 5000, 10_000];

/** A text that is rarely long: of at most the size of the largest body. */
function long(random: Random): string {
  if (!random.chance(0.05)) return "1";
  const unit = random.pick(units);
  const bytes = random.chance(0.1) ? 2 ** 20 : 2 ** random.below(16);
  return unit.repeat(Math.floor(bytes / unit.length));
}

/** Nested JSON, rarely very deep. */
function deep(random: Random): string {
  const depth = random.chance(0.05) ? random.pick(levels) : random.below(8);
  return random.chance(0.5)
    ? "[".repeat(depth) + "]".repeat(depth)
    : `${'{"a":'.repeat(depth)}0${"}".repeat(depth)}`;
}

/** JSON, times, ids and events: the rules that most readers share. */
export const baseGrammar = {
  digits: ["7", "<digits><digits>", "0", "12"],
  word: [
    ...["a", "id", "data", "type", "timestamp", "payload", "headers", "body", "source", "length", "then"],
    ...["__proto__", "constructor", "toString", "hasOwnProperty"],
  ],
  character: [
    ...["a", "Z", "0", " ", "-", "\\n", "\\u0000", "\\ud800", "\\udc00", "\\", '\\"', "\u0000", "\u001b[2J"],
    ...["é", "😀", "\u2028", "\ufeff"].map(bytesOf),
    ...["\xff", "\xed\xa0\x80"],
  ],
  characters: ["a", "<word>", "<character><characters>", "<characters><private>", "<long>", ""],
  private: privates,
  text: ['"<characters>"', '"<word>"', '"<private>"'],
  number: [
    ...["0", "-0", "1", "-1", "1e999", "1E-7", "12345678901234567890", "0.1", "9007199254740993", "01", "."],
    ...["<digits>", "<digits>.<digits>"],
  ],
  json: ["null", "true", "<number>", "<text>", "[]", "{}", "[<items>]", "{<members>}", "<deep>"],
  items: ["1", "<json>", "<json>,<items>"],
  members: ['"a":1', "<member>", "<member>,<members>"],
  member: ['"<word>":<json>', "<text>:<json>"],
  long,
  deep,
  time: [
    ...["2026-11-20T10:00:00Z", "2026-11-20T10:00:00.123456789+05:30", "2026-02-30T00:00:00Z", "2026-11-20"],
    ...["1970-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "+275760-09-13T00:00:00Z", "soon", "", "<digits>"],
  ],
  id: ["msg_<digits>", "msg_7", "<word>", bytesOf("é"), "\xe9", "a b", "a,b", "a, a", "<long>", ""],
  type: [...esimCatalog.types, "port_in.completed", "esim.*", "<word>", ""],
  data: (random) => JSON.stringify(sampleData(random.pick(esimCatalog.types) as "esim.faulted")),
  fields: ["<data>", "<data>", "{<members>}", "<json>"],
  event: [
    '{"type":"<type>","timestamp":"<time>","data":<fields>}',
    '{"type":"<type>","timestamp":"<time>","data":<data>}',
    '{"type":"<type>","timestamp":"<time>","data":<data>,<members>}',
    '{"data":<fields>,"type":<json>,"timestamp":<json>}',
    "{<members>}",
    "<json>",
    "<long>",
  ],
} satisfies Grammar;
