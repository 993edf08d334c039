import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createStage, type StageMessage } from "../../src/base/trace.ts";
import { type StageSpan, setTracer } from "../../src/base/tracer.ts";

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

it("calls a tracer only for the stages that it names, and builds no message for the others", () => {
  const begun: string[] = [];
  const remove = setTracer((name) => void begun.push(name), ["named"]);
  const around = (name: string, begins: () => { name: string }) =>
    stageOf(name).stage.around(
      () => 7,
      begins,
      () => ({ outcome: "ok" }),
    );
  expect(around("named", begin)()).toBe(7);
  expect(around("not named", () => expect.unreachable("a message was built"))()).toBe(7);
  expect(begun).toEqual(["named"]);
  remove();
  expect(around("named", () => expect.unreachable("a message was built"))()).toBe(7);
});

describe("a tracer that throws", () => {
  afterEach(() => {
    setTracer(undefined);
    vi.restoreAllMocks();
  });
  const no = (): never => {
    throw new Error("no tracing");
  };
  const span: StageSpan = { run: (work) => work(), end() {} };

  it.each<[string, () => StageSpan]>([
    ["at the begin of a span", no],
    ["at its end", () => ({ ...span, end: no })],
    ["before the work", () => ({ ...span, run: no })],
    [
      "after the work",
      () => ({
        ...span,
        run(work) {
          work();
          return no();
        },
      }),
    ],
    [
      "later, in a promise",
      () => ({ ...span, run: (work) => Promise.resolve(work()).then(no, no) as never }),
    ],
  ])("%s changes nothing of the work, which runs once", async (_, tracer) => {
    vi.spyOn(process, "emitWarning").mockReturnValue();
    setTracer(tracer);
    const { stage } = stageOf(`throws ${_}`);
    const calls: string[] = [];
    const around = (work: (word: string) => unknown) => stage.around(work, begin, () => ({ outcome: "ok" }));
    const note = around((word) => calls.push(word));
    expect(note("sync")).toBe(1);
    expect(
      await around(async (word) => {
        await null;
        return calls.push(word);
      })("async"),
    ).toBe(2);
    const fails = around((word) => {
      calls.push(word);
      throw new RangeError("of the work");
    });
    expect(() => fails("throws")).toThrow(RangeError);
    const rejects = around(async (word) => {
      calls.push(word);
      throw new RangeError("of the work");
    });
    await expect(rejects("rejects")).rejects.toThrow(RangeError);
    expect(calls).toEqual(["sync", "async", "throws", "rejects"]);
  });

  it("is no reason to wait twice for what the work returned, which may be a query that runs when it is awaited", async () => {
    setTracer(() => span);
    let runs = 0;
    // biome-ignore lint/suspicious/noThenProperty: as query builders have it
    const query = { then: (resolve: (row: string) => void) => resolve(`row ${++runs}`) };
    const { stage } = stageOf("lazy");
    const work = stage.around(
      () => query,
      begin,
      () => ({ outcome: "ok" }),
    );
    expect(await work()).toBe("row 1");
    expect(runs).toBe(1);
  });

  it("is reported once", async () => {
    vi.resetModules(); // the warning is once per process
    const { createStage } = await import("../../src/base/trace.ts");
    const { setTracer } = await import("../../src/base/tracer.ts");
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    setTracer(no);
    const work = createStage<Step, "length">("reported", "broken").around(
      () => 7,
      begin,
      () => ({ outcome: "ok" }),
    );
    expect([work(), work()]).toEqual([7, 7]);
    setTracer(undefined);
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining("tracer"), expect.objectContaining({ code: "observer_failed" })],
    ]);
  });

  it("is not needed for a span to end: it ends also when the result is not what the stage reads", async () => {
    const ends: unknown[] = [];
    setTracer((_, message) => ({ ...span, end: () => void ends.push({ ...message }) }));
    const { stage } = stageOf("unreadable");
    const work = stage.around(
      async () => undefined as never as string,
      begin,
      ({ length }) => ({
        outcome: "ok",
        length,
      }),
    );
    expect(await work()).toBeUndefined();
    expect(ends).toEqual([expect.objectContaining({ outcome: "broken", error: expect.any(TypeError) })]);
  });

  it("is removed by what setTracer has returned, and one that was set since stays", () => {
    const { stage } = stageOf("undo");
    const seen: string[] = [];
    const work = stage.around(
      () => {},
      begin,
      () => ({ outcome: "ok" }),
    );
    const undoFirst = setTracer(() => void seen.push("first"));
    const undoSecond = setTracer(() => void seen.push("second"));
    undoFirst();
    work();
    undoSecond();
    work();
    expect(seen).toEqual(["second"]);
  });
});
