import assert from "node:assert/strict";
import type { StateStore } from "@esim-webhooks/core";
import { newName, present, type StateScenario, withState } from "./state-context.ts";

const maxValueBytes = 64 * 1024;

const values: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1.5,
  1e308,
  5e-324,
  0.1,
  Number.MAX_SAFE_INTEGER,
  "",
  "12345678901234567890",
  "žluťoučký 🦓 \u202e e\u0301 é",
  "\0 \ud800 \udfff \u2028 \ufeff",
  "%s $1 ' \" \\ ; -- :name ?",
  [],
  {},
  [[[[]]], null, [{}]],
  { nested: { list: [1, "2", { three: null }] }, "": "", "a.b": 1, __proto__x: 1 },
  JSON.parse('{"__proto__":{"a":1},"constructor":null}'),
  "x".repeat(maxValueBytes - 2),
];

const circular: { self?: unknown } = {};
circular.self = circular;

const invalidValues: readonly unknown[] = [
  undefined,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -0,
  1n,
  new Date(0),
  new Map(),
  Buffer.from("a"),
  Symbol("a"),
  () => {},
  { left: undefined },
  [undefined],
  circular,
];

const names = [
  "a",
  "A",
  "a.b",
  "a/b",
  "a//b",
  "a\\b",
  "..",
  ".",
  "-",
  "~",
  "!",
  "%2e",
  "a:b",
  "{tag}",
  "'\";--",
  "x".repeat(128),
  `${"x".repeat(127)}y`,
];

const invalidNames = ["", "x".repeat(129), "a b", " ", "a\n", "a\0", "é", "\u007f"];

async function assertInvalid(work: () => Promise<unknown>): Promise<void> {
  await assert.rejects(work, { name: "WebhookError", code: "invalid_input" });
}

async function written(state: StateStore, name: string, value: unknown): Promise<void> {
  const stored = await state.read(name);
  assert.equal(await state.write(name, value, stored?.version), true);
}

/** Which names and values are valid, and that values stay exact. */
export const stateValues: readonly StateScenario[] = [
  [
    "reads undefined for a name that nobody has written",
    (open) =>
      withState(open, {}, async (state) => {
        assert.equal(await state.read(newName()), undefined);
      }),
  ],
  [
    "returns each value unchanged: numbers, unicode, 64 KiB",
    (open) =>
      withState(open, {}, async (state) => {
        const name = newName();
        for (const value of values) {
          await written(state, name, value);
          assert.deepStrictEqual((await present(state, name)).value, value);
        }
      }),
  ],
  [
    "refuses a value that is not plain JSON or exceeds 64 KiB, and keeps the old value",
    (open) =>
      withState(open, {}, async (state) => {
        const name = newName();
        await written(state, name, "kept");
        const { version } = await present(state, name);
        const tooLong = ["x".repeat(maxValueBytes - 1), "é".repeat(maxValueBytes / 2)];
        for (const value of [...invalidValues, ...tooLong]) {
          await assertInvalid(() => state.write(name, value, version));
        }
        assert.deepEqual(await state.read(name), { value: "kept", version });
      }),
  ],
  [
    "keeps similar names apart: case, dots, slashes, quotes, 128 characters",
    (open) =>
      withState(open, {}, async (state) => {
        for (const name of names) await written(state, name, `of ${name}`);
        for (const name of names) assert.equal((await present(state, name)).value, `of ${name}`);
      }),
  ],
  [
    "refuses names that are not 1 to 128 visible ASCII characters",
    (open) =>
      withState(open, {}, async (state) => {
        for (const name of invalidNames) {
          await assertInvalid(() => state.read(name));
          await assertInvalid(() => state.write(name, 1, undefined));
        }
      }),
  ],
];
