import type { EventOutcome, OutcomeCode, PutResult } from "@esim-webhooks/core";
import { observe } from "@esim-webhooks/core/observe";
import { expectTypeOf, it } from "vitest";

it("observers know the outcomes of each stage", () => {
  observe({
    receive({ outcome, id }) {
      expectTypeOf(outcome).toEqualTypeOf<OutcomeCode>();
      expectTypeOf(id).toEqualTypeOf<string | undefined>();
    },
    put: ({ results }) => expectTypeOf(results).toEqualTypeOf<readonly PutResult[] | undefined>(),
    handle: ({ outcome }) => expectTypeOf(outcome).toExtend<EventOutcome["code"]>(),
    settle: ({ afterMs }) => expectTypeOf(afterMs).toEqualTypeOf<number | undefined>(),
  });
  // @ts-expect-error unknown name
  observe({ recieve: () => {} });
});
