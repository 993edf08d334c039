import assert from "node:assert/strict";
import { longestId } from "../base/longest-id.ts";
import { assertBusy, claimed, longLeaseMs, newKey, type StoreScenario, withStore } from "./store-context.ts";

const oddIds = [
  ":",
  "a:b:c",
  "7:default:msg",
  "0",
  "12345678901234567890",
  " ",
  "a,b",
  "with two  spaces ",
  "{tag}",
  "%s $1 ' \" ; --",
  "žluťoučký 🦓 \u202e",
  "é",
  "e\u0301",
  "Msg",
  "msg",
  longestId,
  `${longestId.slice(0, -1)}b`,
  "x".repeat(1024),
];

/** Which ids are the same, and which are not. */
export const storeIds: readonly StoreScenario[] = [
  [
    "keeps the same id of another source apart",
    (open) =>
      withStore(open, {}, async (store) => {
        const { source } = newKey();
        const pairs = [
          ["a", "b:c"],
          ["a:b", "c"],
          ["a:b:c", ""],
          ["1", "1:a"],
          ["", "a:b:c"],
        ] as const;
        const keys = pairs.map(([part, id]) => ({ source: `${source}${part}`, id }));
        const tokens = await Promise.all(keys.map((key) => claimed(store, key)));
        assert.equal(new Set(tokens).size, keys.length);
        const [first, second] = keys;
        assert.ok(first !== undefined && second !== undefined);
        assert.equal(await store.complete(first, tokens[0] ?? ""), true);
        await assertBusy(store, second, longLeaseMs);
      }),
  ],
  [
    "keeps ids exactly: colons, digits, spaces, quotes, commas, unicode, 1,024 characters",
    (open) =>
      withStore(open, {}, async (store) => {
        const { source } = newKey();
        for (const id of oddIds) await store.complete({ source, id }, await claimed(store, { source, id }));
        for (const id of oddIds)
          assert.deepEqual(await store.claim({ source, id }, 1000), { status: "done" });
        await claimed(store, { source, id: longestId.slice(0, -1) });
      }),
  ],
];
