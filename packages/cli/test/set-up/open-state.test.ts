import { join } from "node:path";
import { type StateStore, WebhookError } from "@esim-webhooks/core";
import { fileState } from "@esim-webhooks/core/state";
import { sqliteState } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, vi } from "vitest";
import { openState } from "../../src/set-up/open-target.ts";
import { folder } from "../cli.ts";
import { setUpOf } from "./set-up-of.ts";

const target = { put: async () => [] };
const store = { claim: 0, extend: 0, complete: 0, release: 0 } as never;

describe("the state of a set-up", () => {
  it.each([
    ["the default inbox", undefined],
    ["handlers with the default store", {}],
  ])("is kept in the file of %s, so that both are lost together", async (_, handlers) => {
    const dataDir = folder();
    const { state, close } = await openState(
      setUpOf({ place: { dataDir, path: dataDir, user: process.geteuid?.() }, handlers }),
    );
    expect(await state.write("a", 1, undefined)).toBe(true);
    await close();
    const again = sqliteState({ path: join(dataDir, "events.db") });
    expect(await again.read("a")).toMatchObject({ value: 1 });
    await again.close();
  });

  it.each([
    ["target", { target }, undefined],
    ["store", { store }, {}],
  ])(
    "has no place beside a %s of the config's own, and the message says what to add",
    async (own, config, handlers) => {
      const opening = openState(setUpOf({ config, handlers }));
      await expect(opening).rejects.toMatchObject({ code: "invalid_config" });
      await expect(opening).rejects.toThrow(
        `config.ts has its own ${own} but no state, so there is no place for how far the command has come. Add one in the same database`,
      );
      await expect(opening).rejects.toThrow(/redisState\(url\) of @esim-webhooks\/store-redis/);
      await expect(opening).rejects.toThrow(
        /With SQS or DynamoDB: state: fileState\(folder\) of @esim-webhooks\/core\/state/,
      );
    },
  );

  it("is the config's, where it has one", async () => {
    const state = fileState(folder());
    const open = await openState(setUpOf({ config: { target, state } }));
    await open.state.write("a", 1, undefined);
    expect(await state.read("a")).toMatchObject({ value: 1 });
    await open.close();
  });

  it("is closed, and named as it is in the config, when it cannot be reached", async () => {
    const close = vi.fn(async () => {});
    const ready = () => Promise.reject(new WebhookError("store_unavailable", "away", "Wait."));
    const state = { ready, close } as unknown as StateStore;
    await expect(openState(setUpOf({ config: { target, state } }))).rejects.toThrow(
      "The state in config.ts cannot be reached",
    );
    expect(close).toHaveBeenCalledOnce();
  });
});
