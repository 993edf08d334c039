import { expect, it } from "vitest";
import type { Operation } from "../../src/http/operation.ts";
import { judge } from "../../src/http/retry-rule.ts";

const operation = (name: string): Operation => ({
  name,
  method: "POST",
  url: "http://127.0.0.1:9/",
  headers: {},
  body: "{}",
  idempotencyKey: "key",
  isHarmless: false,
  isConfidential: false,
  priority: "normal",
});
const conflict = { kind: "answered", status: 409, headers: new Headers(), body: { kind: "empty" } } as const;
const history = { hasFreshToken: false, mayBeDone: false, failures: 0 };

it("a 409 of numbers.allocate is in flight even if a proxy dropped Retry-After: a new key could allocate a second number", () => {
  expect(judge(operation("numbers.allocate"), conflict, history)).toMatchObject({
    next: "retry",
    code: "in_flight",
  });
  expect(judge(operation("portIns.create"), conflict, history)).toEqual({ next: "fail", code: "conflict" });
});
