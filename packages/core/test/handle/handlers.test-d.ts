import {
  createCatalog,
  createProcessor,
  type DataOf,
  defineCatalog,
  type EsimEvents,
  type EventOf,
  type FaultReason,
  type Handlers,
  nodeHandler,
  type UnknownEvent,
  type UnknownType,
} from "@esim-webhooks/core";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

describe("handlers are typed from the catalog", () => {
  test("an exact type has its own data", () => {
    nodeHandler({
      "esim.assigned": ({ type, data }) => {
        expectTypeOf(type).toEqualTypeOf<"esim.assigned">();
        expectTypeOf(data.iccid).toEqualTypeOf<string>();
      },
    });
  });

  test("the iccid is required in esim.assigned and optional in every other eSIM event", () => {
    type Others = Exclude<keyof EsimEvents, "esim.assigned" | "package.ended">;
    expectTypeOf<EsimEvents["esim.assigned"]["iccid"]>().toEqualTypeOf<string>();
    expectTypeOf<EsimEvents[Others]["iccid"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<
      { [T in Others]: undefined extends EsimEvents[T]["iccid"] ? never : T }[Others]
    >().toBeNever();
  });

  test("the reason of esim.faulted is an open union: known values complete, others are accepted", () => {
    nodeHandler({
      "esim.faulted": async ({ data }) => {
        expectTypeOf<string>().toExtend<typeof data.reason>();
        // not plain string: the known values are still there for the editor to offer
        expectTypeOf(data.reason).not.toEqualTypeOf<string>();
        expectTypeOf<
          Extract<typeof data.reason, "download_order_expired">
        >().toEqualTypeOf<"download_order_expired">();
      },
    });
  });

  test("a field without a type in the spec is not promised to be text, and its known values are still offered", () => {
    nodeHandler({
      "esim.faulted": ({ data }) => expectTypeOf(data.detail).toBeUnknown(),
      "package.ended": ({ data }) => {
        expectTypeOf<unknown>().toExtend<typeof data.reason>();
        expectTypeOf<Extract<typeof data.reason, "removed">>().toEqualTypeOf<"removed">();
      },
    });
  });

  test("a family has the union of its members", () => {
    nodeHandler({
      "esim.lifecycle.*": (event) => {
        expectTypeOf(event.type).toEqualTypeOf<
          "esim.lifecycle.suspended" | "esim.lifecycle.activated" | "esim.lifecycle.terminated" | UnknownType
        >();
        if (event.type === "esim.lifecycle.suspended") {
          expectTypeOf(event.data.lifecycleStatus).toEqualTypeOf<"suspended">();
        }
      },
      "package.*": (event) => expectTypeOf(event.type).toEqualTypeOf<"package.ended" | UnknownType>(),
    });
  });

  test("the star has the union of all, and narrows on the type", () => {
    nodeHandler({
      "*": (event, context) => {
        expectTypeOf(event).toEqualTypeOf<EventOf<EsimEvents> | UnknownEvent>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        if (event.type === "esim.mccswitch") expectTypeOf(event.data.newMcc).toEqualTypeOf<string | number>();
      },
    });
  });

  test("retryLater and discard end a handler for TypeScript too, with a return", () => {
    nodeHandler({
      "esim.faulted": ({ data }, context) => {
        const order = data.reason === "download_order_expired" ? "order-1" : undefined;
        if (order === undefined) return context.retryLater(30_000);
        expectTypeOf(order).toBeString();
        expectTypeOf(context.discard).toEqualTypeOf<(reason: string) => never>();
        return order;
      },
    });
  });

  test("comparing the type narrows to one event of the catalog, although unknown types come too", () => {
    nodeHandler({
      "*": (event) => {
        if (event.type === "esim.faulted") {
          expectTypeOf(event).toEqualTypeOf<EventOf<Pick<EsimEvents, "esim.faulted">>>();
          expectTypeOf(event.data.reason).toEqualTypeOf<FaultReason>();
        }
      },
      "esim.*": ({ type, data }) => {
        if (type === "esim.faulted") expectTypeOf(data.reason).toEqualTypeOf<FaultReason>();
      },
      "package.*": (event) => {
        switch (event.type) {
          case "package.ended":
            return;
          default:
            expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
            expectTypeOf(event.type).toExtend<string>();
            expectTypeOf(event.data).toEqualTypeOf<Readonly<Record<string, unknown>>>();
        }
      },
    });
  });

  test("createCatalog infers the data of each type from its schema, as defineCatalog does", () => {
    const order = z.object({ price: z.number(), note: z.optional(z.string()) });
    const catalog = createCatalog({ "order.paid": order, "order.sent": z.object({ at: z.coerce.date() }) });
    expectTypeOf<DataOf<typeof catalog>>().toEqualTypeOf<{
      "order.paid": { price: number; note?: string | undefined };
      "order.sent": { at: Date };
    }>();
    createProcessor(
      {
        "order.paid": ({ data }) => expectTypeOf(data.price).toEqualTypeOf<number>(),
        "order.*": (event) => {
          if (event.type === "order.sent") expectTypeOf(event.data.at).toEqualTypeOf<Date>();
        },
      },
      { catalog },
    );
    // @ts-expect-error not in this catalog
    createProcessor({ "order.lost": () => {} }, { catalog });
    // @ts-expect-error the schema gives another type of data
    createCatalog<{ "order.paid": { price: string } }>({ "order.paid": order });
  });

  test("a misspelt event type does not compile", () => {
    // @ts-expect-error there is no such event type
    nodeHandler({ "esim.fautled": () => {} });
    // @ts-expect-error there is no such family
    const handlers: Handlers<EsimEvents> = { "esim.livecycle.*": () => {} };
    // @ts-expect-error data has no such field
    nodeHandler({ "esim.faulted": ({ data }) => data.esimRefrence });
    void handlers;
  });

  test("a defined catalog adds its types, keeps the eSIM ones, and may replace one", () => {
    const catalog = defineCatalog({
      "package.created": z.object({ packageReference: z.string(), price: z.number() }),
      "package.ended": z.object({ packageReference: z.string(), reason: z.string() }),
    });
    createProcessor(
      {
        "package.created": ({ data }) =>
          expectTypeOf(data).toEqualTypeOf<{ packageReference: string; price: number }>(),
        "package.ended": ({ data }) =>
          expectTypeOf(data).toEqualTypeOf<{ packageReference: string; reason: string }>(),
        "package.*": (event) =>
          expectTypeOf(event.type).toEqualTypeOf<"package.created" | "package.ended" | UnknownType>(),
        "esim.faulted": ({ data }) => expectTypeOf(data.esimReference).toEqualTypeOf<string>(),
      },
      { catalog },
    );
    // @ts-expect-error not in this catalog either
    createProcessor({ "package.renewed": () => {} }, { catalog });
  });
});
