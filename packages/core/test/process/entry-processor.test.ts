import { memoryStore } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { createEntryProcessor } from "../../src/process/entry-processor.ts";

const receivedAt = new Date("2026-01-01T00:00:00Z");

/** An entry with the body of this data alone, which may not fit the type. */
function withoutEvent(data: object, type = "esim.faulted") {
  const body = Buffer.from(JSON.stringify({ type, timestamp: receivedAt.toISOString(), data }));
  return { source: "eu", id: "msg_1", type, body, receivedAt, event: null };
}

function processing() {
  const lines: Record<string, unknown>[] = [];
  const logger = loggerWith({ error: (fields) => void lines.push(fields) });
  const seen: unknown[] = [];
  const process = createEntryProcessor(
    { "*": ({ id }, { source, attempt }) => void seen.push([id, source, attempt]) },
    { store: memoryStore(), logger },
  );
  return { process, lines, seen };
}

it("passes the handler the event of the body, with its source and its attempt", async () => {
  const { process, lines, seen } = processing();
  const { outcome, report } = await process(withoutEvent(sampleData("esim.faulted")) as never, {
    attempt: 3,
  });
  report();
  expect([outcome.code, seen, lines]).toEqual(["processed", [["msg_1", "eu", 3]], []]);
});

it("reports an event that no handler could get, without its values", async () => {
  const { process, lines, seen } = processing();
  const { outcome, report } = await process(withoutEvent({ esimReference: 12_345_678 }) as never, {
    attempt: 1,
  });
  expect([outcome.code, seen, lines]).toEqual(["invalid", [], []]);
  report({ message: "message-1" });
  expect(lines).toMatchObject([{ message: "message-1", source: "eu", id: "msg_1", outcome: "invalid" }]);
  expect(JSON.stringify(lines)).not.toContain("12345678");
});

it("reports another body with an id that is done", async () => {
  const { process, lines } = processing();
  await process(withoutEvent(sampleData("esim.faulted")) as never, { attempt: 1 });
  const other = withoutEvent({ ...sampleData("esim.faulted"), note: "other" });
  (await process(other as never, { attempt: 1 })).report();
  expect(lines).toMatchObject([{ outcome: "conflict" }]);
});
