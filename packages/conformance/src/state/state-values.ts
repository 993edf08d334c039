import assert from "node:assert/strict";
import type { StateStore } from "@esim-webhooks/core";
import { countUp, newName, present, type StateScenario, withState } from "./state-context.ts";

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

/** Scenarios for names, and for values, which must stay exact. */
export const stateValues: readonly StateScenario[] = [
  [
    "reads undefined for a name that was never written",
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

/** Scenarios for versions, which decide over writes. */
export const stateVersions: readonly StateScenario[] = [
  [
    "writes with the version that was read; with any other version it answers false, and nothing changes",
    (open) =>
      withState(open, {}, async (state) => {
        const name = newName();
        for (const version of ["", "1", "none"])
          assert.equal(await state.write(name, "none yet", version), false);
        assert.equal(await state.read(name), undefined);
        assert.equal(await state.write(name, "first", undefined), true);
        const first = await present(state, name);
        assert.equal(await state.write(name, "second", first.version), true);
        const second = await present(state, name);
        assert.notEqual(second.version, first.version);
        const others = [undefined, first.version, "", "0", "none", "../..", `${second.version}0`, "é\0"];
        for (const version of others) assert.equal(await state.write(name, "third", version), false);
        assert.deepEqual(await present(state, name), second);
        assert.equal(second.value, "second");
      }),
  ],
  [
    "gives each write a new version, even if it repeats an earlier value",
    (open) =>
      withState(open, {}, async (state) => {
        const name = newName();
        const versions: (string | undefined)[] = [undefined];
        for (const value of ["a", "b", "a", "a", "b"]) {
          assert.equal(await state.write(name, value, versions.at(-1)), true);
          versions.push((await present(state, name)).version);
        }
        assert.equal(new Set(versions).size, versions.length);
        for (const version of versions.slice(0, -1)) {
          assert.equal(await state.write(name, "late", version), false);
        }
      }),
  ],
  [
    "accepts one of 50 concurrent writes with the same version, also when the name has no value yet",
    (open) =>
      withState(open, {}, async (state) => {
        const name = newName();
        for (let round = 0; round < 20; round++) {
          const before = await state.read(name);
          const writes = await Promise.all(
            Array.from({ length: 50 }, (_, n) => state.write(name, { round, n }, before?.version)),
          );
          assert.equal(writes.filter(Boolean).length, 1);
          assert.deepEqual((await present(state, name)).value, { round, n: writes.indexOf(true) });
        }
      }),
  ],
  [
    "shows readers only whole values, in the order of their writes",
    (open) =>
      withState(open, {}, async (state) => {
        const name = newName();
        let isWriting = true;
        const writer = async () => {
          for (let n = 0; n < 50; n++) await countUp(state, name);
          isWriting = false;
        };
        const reader = async () => {
          let last = 0;
          while (isWriting) {
            const count = Number((await state.read(name))?.value ?? 0);
            assert.ok(count >= last, `read ${count} after ${last}`);
            last = count;
          }
        };
        await Promise.all([writer(), reader(), reader(), reader()]);
        assert.equal((await present(state, name)).value, 50);
      }),
  ],
  [
    "still has a value when it is opened again, if it is `durable`",
    async (open) => {
      const name = newName();
      let durable = false;
      await withState(open, {}, async (state) => {
        durable = state.capabilities.durable;
        await countUp(state, name);
      });
      if (!durable) return;
      await withState(open, {}, async (state) => {
        assert.equal((await present(state, name)).value, 1);
        await countUp(state, name);
        assert.equal((await present(state, name)).value, 2);
      });
    },
  ],
  [
    "rejects every read and write once it is closed, and can be closed twice",
    async (open) => {
      const state = await open({});
      await state.ready();
      await countUp(state, newName());
      await Promise.all([state.close(), state.close()]);
      await state.close();
      for (const operation of [() => state.read(newName()), () => state.write(newName(), 1, undefined)]) {
        await assert.rejects(operation, { name: "WebhookError", code: "store_unavailable" });
      }
    },
  ],
];
