import { defineCatalog, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { runHandler, sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const event = { type: "esim.faulted", data: sampleData("esim.faulted") };
const error = new Error("the database is down");

describe("runHandler", () => {
  it.each<[string, Handlers<EsimEvents>, object]>([
    ["a handler that returns", { "*": () => "ignored" }, { code: "processed" }],
    ["one that throws", { "*": () => Promise.reject(error) }, { code: "failed", error }],
    [
      "one that asks for a retry",
      { "*": (_, context) => context.retryLater(7) },
      { code: "retry_later", retryAfterMs: 7 },
    ],
    [
      "one that discards",
      { "esim.faulted": (_, context) => context.discard("not ours") },
      { code: "discarded", reason: "not ours" },
    ],
    ["a type without a handler", { "esim.enabled": () => {} }, { code: "unhandled_type" }],
  ])("resolves to the outcome of %s", async (_, handlers, outcome) => {
    expect(await runHandler(handlers, event)).toEqual(outcome);
  });

  it("gives the handler its event, its attempt and its transaction", async () => {
    const seen: unknown[] = [];
    const tx = { name: "a transaction" };
    const handlers: Handlers<EsimEvents, typeof tx> = {
      "esim.faulted": ({ id }, context) => void seen.push(id, context.attempt, context.tx),
    };
    await runHandler(handlers, { ...event, id: "msg_1" }, { attempt: 3, tx });
    expect(seen).toEqual(["msg_1", 3, tx]);
  });

  it("refuses data that does not fit the schema, and takes the types of a catalog", async () => {
    expect(await runHandler({ "*": () => {} }, { ...event, data: {} })).toMatchObject({ code: "invalid" });
    const catalog = defineCatalog({ "package.created": z.object({ price: z.coerce.number() }) });
    const prices: number[] = [];
    const handlers = {
      "package.created": ({ data }: { data: { price: number } }) => void prices.push(data.price),
    };
    await runHandler(handlers, { type: "package.created", data: { price: "7" } }, { catalog });
    expect(prices).toEqual([7]);
  });
});
