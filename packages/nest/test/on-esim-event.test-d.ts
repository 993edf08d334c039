import { type DataOf, defineCatalog, type HandlerContext, memoryStore } from "@esim-webhooks/core";
import { type EsimEvent, EsimWebhooksModule, eventDecorator, OnEsimEvent } from "@esim-webhooks/nest";
import { type SqliteTransaction, sqliteInbox } from "@esim-webhooks/store-sqlite";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

test("a method takes the events of its decorator, and the context if it wants it", () => {
  class Handlers {
    @OnEsimEvent("esim.faulted")
    async onFault(event: EsimEvent<"esim.faulted">, context: HandlerContext): Promise<void> {
      expectTypeOf(event.data.reason).toExtend<string>();
      expectTypeOf(context.attempt).toEqualTypeOf<number>();
    }
    @OnEsimEvent("esim.lifecycle.*")
    onLifecycle(event: EsimEvent<"esim.lifecycle.*">) {
      if (event.type === "esim.lifecycle.suspended")
        expectTypeOf(event.data.lifecycleStatus).toEqualTypeOf<"suspended">();
    }
    @OnEsimEvent("*")
    onOther({ type }: EsimEvent<"*">) {
      expectTypeOf(type).toExtend<string>();
    }
    @OnEsimEvent("esim.enabled")
    @OnEsimEvent("esim.disabled")
    onSwitch(event: EsimEvent<"esim.enabled"> | EsimEvent<"esim.disabled">) {
      return event.data.eid;
    }
    @OnEsimEvent("esim.deleted")
    onDeleted(
      _event: { readonly data: { readonly esimReference: string } },
      { tx }: HandlerContext<SqliteTransaction>,
    ) {
      return tx;
    }
    @OnEsimEvent("esim.downloaded")
    private countDownload() {}
    count = this.countDownload;
  }
  expectTypeOf<Handlers>().toHaveProperty("onFault");
});

test("a misspelt type, the event of another type and an argument that no handler gets do not compile", () => {
  class Handlers {
    // @ts-expect-error there is no such event type
    @OnEsimEvent("esim.fautled")
    misspelt() {}
    // @ts-expect-error the method is for another type
    @OnEsimEvent("esim.faulted")
    other(_event: EsimEvent<"esim.mccswitch">) {}
    // @ts-expect-error a family has more events than this one
    @OnEsimEvent("esim.*")
    narrow(_event: EsimEvent<"esim.faulted">) {}
    // @ts-expect-error there is no third parameter
    @OnEsimEvent("esim.enabled")
    third(_event: EsimEvent<"esim.enabled">, _context: HandlerContext, _third: string) {}
    // @ts-expect-error a property is not a method
    @OnEsimEvent("esim.disabled")
    property = 1;
  }
  expectTypeOf<Handlers>().toHaveProperty("misspelt");
});

test("a catalog of one's own has a decorator of its own", () => {
  const catalog = defineCatalog({ "package.created": z.object({ price: z.number() }) });
  const OnEvent = eventDecorator(catalog);
  class Handlers {
    @OnEvent("package.created")
    onCreated({ data }: EsimEvent<"package.created", DataOf<typeof catalog>>) {
      expectTypeOf(data.price).toEqualTypeOf<number>();
    }
    // @ts-expect-error not in this catalog
    @OnEvent("package.renewed")
    onRenewed() {}
  }
  expectTypeOf<Handlers>().toHaveProperty("onCreated");
  EsimWebhooksModule.forRoot({ catalog, worker: { typeLimits: { "package.created": 1 } } });
  // @ts-expect-error not in this catalog
  EsimWebhooksModule.forRoot({ catalog, worker: { typeLimits: { "package.renewed": 1 } } });
});

test("the module takes inboxes, stores and injected options, and no misspelt ones", () => {
  const inbox = sqliteInbox({ path: "events.db" });
  EsimWebhooksModule.forRoot({ inbox, worker: { concurrency: 5 } });
  EsimWebhooksModule.forRoot({ store: memoryStore(), path: false });
  EsimWebhooksModule.forRootAsync({
    inject: ["url"],
    useFactory: async (path: string) => ({ inbox: sqliteInbox({ path }) }),
  });
  // @ts-expect-error there is no such option
  EsimWebhooksModule.forRoot({ pth: "/hooks" });
});
