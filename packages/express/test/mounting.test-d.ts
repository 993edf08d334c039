import { webhookRouter } from "@esim-webhooks/express";
import express5 from "express";
import express4 from "express4";
import { expectTypeOf, test } from "vitest";

test("the router mounts without a cast on the types of Express 5 and of Express 4", () => {
  const router = webhookRouter({
    "esim.faulted": ({ data }) => expectTypeOf(data.reason).toExtend<string>(),
  });
  express5().use(router).use("/hooks", router);
  express4().use(router).use("/hooks", router);
});
