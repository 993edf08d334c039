import assert from "node:assert/strict";
import { countUp, newName, present, type StateScenario, withState } from "./state-context.ts";

/** How versions decide which write succeeds. */
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
