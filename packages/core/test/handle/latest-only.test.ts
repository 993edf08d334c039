import {
  createProcessor,
  createWorker,
  type Handlers,
  WebhookError,
  type WebhookEvent,
} from "@esim-webhooks/core";
import { memoryInbox, sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { latestOnlyHandler } from "../../src/handle/latest-only.ts";

/** A store's `latestOnly` over a map, and the ids of the events that it let through. */
function createLatest() {
  const latest = new Map<string, string>();
  const handled: string[] = [];
  const latestOnly = (state: string) =>
    latestOnlyHandler<WebhookEvent<string, unknown>, unknown>(
      { state },
      ({ id }) => void handled.push(id),
      ({ state, subject }, { timestamp }) => {
        const newest = latest.get(`${state} ${subject}`);
        if (newest !== undefined && newest > timestamp) return false;
        latest.set(`${state} ${subject}`, timestamp);
        return true;
      },
    );
  return { latestOnly, handled };
}

const eventOf = (type: keyof typeof sample, second: number): WebhookEvent => ({
  id: `${type} at ${second}`,
  type,
  timestamp: `2026-11-20T10:00:0${second}Z`,
  data: sample[type],
});
const sample = {
  "esim.disabled": sampleData("esim.disabled"),
  "esim.enabled": sampleData("esim.enabled"),
  "esim.mccswitch": sampleData("esim.mccswitch"),
  "esim.faulted": sampleData("esim.faulted"),
};

const create = (handlers: object) => createProcessor(handlers as Handlers<object> as never);

function errorOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return WebhookError.is(error) ? { code: error.code, message: error.message } : error;
  }
}

describe("latestOnly", () => {
  it("skips an older event of the same state, and none of another state of the same eSIM", async () => {
    const { latestOnly, handled } = createLatest();
    const profile = latestOnly("profile");
    const processor = create({
      "esim.enabled": profile,
      "esim.disabled": profile,
      "esim.mccswitch": latestOnly("network"),
    });
    await processor.process(eventOf("esim.disabled", 2));
    const older = await processor.process(eventOf("esim.enabled", 1));
    expect(older).toEqual({ code: "discarded", reason: "older than what was worked before" });
    await processor.process(eventOf("esim.mccswitch", 1)); // dropped when a family of all two-part types was the default
    expect(handled).toEqual(["esim.disabled at 2", "esim.mccswitch at 1"]);
  });

  it.each([["esim.faulted"], ["*"]])(
    "is refused at start-up if its key %s takes esim.faulted, as a late final fault would be skipped",
    (key) => {
      const { latestOnly } = createLatest();
      expect(errorOf(() => create({ [key]: latestOnly("profile") }))).toMatchObject({
        code: "invalid_option",
        message: expect.stringContaining('Give "esim.faulted" a handler without latestOnly.'),
      });
      create({ "*": latestOnly("profile"), "esim.faulted": () => {} });
      for (const options of [{}, { timeoutMs: 1000 }]) {
        const handlers = { [key]: latestOnly("profile") } as never;
        expect(() => createWorker(memoryInbox(), handlers, options)).toThrow(/without latestOnly/);
      }
    },
  );

  it("fails esim.faulted if another function hides it at start-up", async () => {
    const { latestOnly, handled } = createLatest();
    const hidden = latestOnly("profile");
    const processor = create({ "*": (event: WebhookEvent, context: never) => hidden(event, context) });
    expect(await processor.process(eventOf("esim.faulted", 1))).toMatchObject({
      code: "failed",
      error: { code: "invalid_option" },
    });
    expect(handled).toEqual([]);
  });

  it("asks for the name of the state", () => {
    const { latestOnly } = createLatest();
    const nameless = errorOf(() => latestOnly(undefined as never));
    expect(nameless).toMatchObject({ code: "invalid_option", message: expect.stringContaining('"state"') });
    const handlerFirst = () => latestOnlyHandler((() => {}) as never, undefined as never, () => true);
    expect(errorOf(handlerFirst)).toMatchObject({ code: "invalid_option" });
  });
});
