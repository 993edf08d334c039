import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { createStage, type StageMessage } from "../../src/base/trace.ts";

interface Step extends StageMessage {
  readonly name: string;
  readonly length?: number;
}

function stageOf(name: string) {
  const seen: [string, unknown][] = [];
  const channel = tracingChannel<unknown, Step>(`esim-webhooks:${name}`);
  const watch = () => {
    const subscribers = Object.fromEntries(
      ["start", "end", "asyncStart", "asyncEnd", "error"].map((event) => [
        event,
        (message: object) => void seen.push([event, { ...message }]),
      ]),
    );
    channel.subscribe(subscribers as never);
  };
  return { stage: createStage<Step, "length">(name, "broken"), channel, seen, watch };
}

const begin = () => ({ name: "one" });

describe("a stage", () => {
  it("publishes start and end around the call, and asyncStart and asyncEnd when its promise settles", async () => {
    const { stage, seen, watch } = stageOf("bracket");
    watch();
    const work = stage.around(
      async (word: string) => {
        seen.push(["work", undefined]);
        await null;
        return word;
      },
      begin,
      ({ length }, word) => ({ outcome: `ok: ${word}`, length }),
    );
    expect(await work("four")).toBe("four");
    const ended = { name: "one", outcome: "ok: four", length: 4, durationMs: expect.any(Number) };
    expect(seen).toEqual([
      ["start", { name: "one" }],
      ["work", undefined],
      ["end", { name: "one" }],
      ["asyncStart", ended],
      ["asyncEnd", ended],
    ]);
  });

  it.each([
    [
      "outcome",
      async () => {},
      () => ({ outcome: "failed", error: undefined }),
      { outcome: "failed", error: undefined },
    ],
    [
      "rejection",
      () => Promise.reject(new Error("away")),
      () => ({ outcome: "ok" }),
      { outcome: "broken", error: new Error("away") },
    ],
    [
      "throw",
      (): Promise<void> => {
        throw new Error("away");
      },
      () => ({ outcome: "ok" }),
      { outcome: "broken", error: new Error("away") },
    ],
  ])("publishes the error of its %s before it ends", async (_, work, end, expected) => {
    const { stage, seen, watch } = stageOf(`error:${_}`);
    watch();
    const watched = async () => stage.around(work, begin, end)();
    await watched().catch((error: unknown) => expect(error).toEqual(expected.error));
    expect(seen.map(([event]) => event)).toEqual(["start", "end", "error", "asyncStart", "asyncEnd"]);
    expect(seen.at(-1)?.[1]).toEqual({ name: "one", durationMs: expect.any(Number), ...expected });
  });

  it("returns the result of work that makes no promise without one, and throws what it throws", () => {
    const { stage, seen, watch } = stageOf("sync");
    watch();
    expect(
      stage.around(
        () => 7,
        begin,
        () => ({ outcome: "ok" }),
      )(),
    ).toBe(7);
    expect(seen.map(([event]) => event)).toEqual(["start", "end", "asyncStart", "asyncEnd"]);
    const throws = stage.around(
      () => {
        throw new Error("away");
      },
      begin,
      () => ({ outcome: "ok" }),
    );
    expect(throws).toThrow("away");
  });

  it("builds no message without subscribers, and returns the promise of the work itself", async () => {
    const { stage } = stageOf("unwatched");
    const unwanted = () => expect.unreachable("a message was built");
    const promise = Promise.resolve("result");
    const work = stage.around(() => promise, unwanted, unwanted);
    expect(work()).toBe(promise);
    const stop = () => {};
    stage.ended.subscribe(stop);
    stage.ended.unsubscribe(stop);
    expect(work()).toBe(promise);
  });

  it("runs with a bound store even without subscribers, and the store is current only in the work", async () => {
    const { stage, channel } = stageOf("store");
    const store = new AsyncLocalStorage<string>();
    channel.start.bindStore(store, ({ name }) => name);
    const names = ["a", "b", "c"];
    const work = stage.around(
      async (_: string) => {
        await new Promise(setImmediate);
        return store.getStore();
      },
      (name) => ({ name }),
      () => ({ outcome: "ok" }),
    );
    expect(await Promise.all(names.map((name) => work(name)))).toEqual(names);
    expect(store.getStore()).toBeUndefined();
  });
});
