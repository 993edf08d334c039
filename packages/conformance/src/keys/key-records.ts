import assert from "node:assert/strict";
import type { KeyRecord } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { countIn, countUp, type KeyScenario, newName, numbered, present, withKeys } from "./key-context.ts";

const [oldSecret, newerSecret] = [newSecret(), newSecret()];

const records: readonly KeyRecord[] = [
  { keys: [oldSecret] },
  { keys: [{ secret: oldSecret, notAfter: "2999-01-01T00:00:00.000Z", endpoint: "of-which" }, newerSecret] },
  {
    keys: [{ secret: oldSecret, notBefore: "2020-01-01T00:00:00+01:00" }, "utf8:the-sender's-own"],
    rotatingUntil: "2026-11-20T12:00:00Z",
    change: { kind: "rotate", step: "call", tries: 2, when: null, nested: { list: ["žluťoučký"] } },
  },
];

/** Records that would leave every receiver without keys. */
const unreadable: readonly unknown[] = [
  { keys: ["whsec_not base64"] },
  { keys: [oldSecret, { secret: newerSecret, notAfter: "soon" }] },
  { keys: [oldSecret], rotatingUntil: "soon" },
  { keys: oldSecret },
  { keys: [oldSecret], rotation: {} },
];

/** Scenarios for the records of a key store, and for several writers. */
export const keyRecords: readonly KeyScenario[] = [
  [
    "has no record and no keys before the first write",
    (open) =>
      withKeys(open, newName(), async (keys) => {
        assert.equal(await keys.read(), undefined);
        await assert.rejects(() => keys.load());
        assert.equal(await keys.write(numbered(1), "none"), false);
        assert.equal(await keys.read(), undefined);
      }),
  ],
  [
    "returns each record unchanged, also when it is opened again, and loads its keys for receivers",
    async (open) => {
      const name = newName();
      for (const record of records) {
        await withKeys(open, name, async (keys) => {
          assert.equal(await keys.write(record, (await keys.read())?.version), true);
        });
        await withKeys(open, name, async (keys) => {
          assert.deepEqual((await present(keys)).record, record);
          const { change: _notForReceivers, ...loaded } = record;
          assert.deepEqual(await keys.load(), loaded);
        });
      }
    },
  ],
  [
    "keeps a record without keys, which a new endpoint has, and loads nothing from it",
    (open) =>
      withKeys(open, newName(), async (keys) => {
        const record = { keys: [], change: { kind: "create" } };
        assert.equal(await keys.write(record, undefined), true);
        assert.deepEqual((await present(keys)).record, record);
        await assert.rejects(() => keys.load(), { code: "invalid_secret" });
      }),
  ],
  [
    "refuses a record that no receiver could read, quotes no secret, and keeps the old one",
    (open) =>
      withKeys(open, newName(), async (keys) => {
        await keys.write(numbered(1), undefined);
        const before = await present(keys);
        for (const record of unreadable) {
          const refused = await keys.write(record as KeyRecord, before.version).catch((error) => error);
          assert.equal(refused.code, "invalid_secret");
          assert.ok(!`${refused.message}${refused.cause}`.includes(oldSecret.slice(6)));
        }
        assert.deepEqual(await present(keys), before);
      }),
  ],
  [
    "writes with the version that was read; with any other version it answers false, and nothing changes",
    (open) =>
      withKeys(open, newName(), async (keys) => {
        await keys.write(numbered(1), undefined);
        const first = await present(keys);
        assert.equal(await keys.write(numbered(2), first.version), true);
        const second = await present(keys);
        for (const version of [undefined, first.version, "", "0", "../..", `${second.version}0`]) {
          assert.equal(await keys.write(numbered(3), version), false);
        }
        assert.deepEqual(await present(keys), second);
      }),
  ],
  [
    "gives each write a new version, even if it repeats an earlier record",
    (open) =>
      withKeys(open, newName(), async (keys) => {
        const [one, other] = [numbered(1), numbered(2)];
        const versions: (string | undefined)[] = [undefined];
        for (const record of [one, other, one, one, other]) {
          assert.equal(await keys.write(record, versions.at(-1)), true);
          versions.push((await present(keys)).version);
        }
        assert.equal(new Set(versions).size, versions.length);
        for (const version of versions.slice(0, -1)) assert.equal(await keys.write(one, version), false);
      }),
  ],
  [
    "accepts one of 20 concurrent writes with the same version, also the first of all",
    (open) =>
      withKeys(open, newName(), async (keys) => {
        for (let round = 0; round < 10; round++) {
          const before = await keys.read();
          const writes = await Promise.all(
            Array.from({ length: 20 }, (_, n) => keys.write(numbered(20 * round + n), before?.version)),
          );
          assert.equal(writes.filter(Boolean).length, 1);
          assert.equal(countIn((await present(keys)).record), 20 * round + writes.indexOf(true));
        }
      }),
  ],
  [
    "shows readers only whole records, in the order of their writes, and always has keys to load",
    (open) =>
      withKeys(open, newName(), async (keys) => {
        await countUp(keys);
        let isWriting = true;
        const writer = async () => {
          for (let n = 0; n < 30; n++) await countUp(keys);
          isWriting = false;
        };
        const reader = async () => {
          let last = 0;
          while (isWriting) {
            const count = countIn((await present(keys)).record);
            assert.ok(count >= last, `read ${count} after ${last}`);
            last = count;
            await keys.load();
          }
        };
        await Promise.all([writer(), reader(), reader(), reader()]);
        assert.equal(countIn((await present(keys)).record), 31);
      }),
  ],
];
