import { type HandlerContext, idempotencyKeyOf } from "@esim-webhooks/core";
import { type EsimEvent, OnEsimEvent } from "@esim-webhooks/nest";
import { Injectable, Module } from "@nestjs/common";

@Injectable()
export class Orders {
  /** Your own order call, which orders once for a key. */
  async replace(esimReference: string, key: string) {
    console.log(`ordered a replacement of ${esimReference}, key ${key}`);
  }
}

@Injectable()
export class Faults {
  constructor(private readonly orders: Orders) {}

  @OnEsimEvent("esim.faulted")
  async onFault(event: EsimEvent<"esim.faulted">, context: HandlerContext) {
    const { data } = event;
    context.logger.info({ reason: data.reason }, "An eSIM has a fault.");
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    return this.orders.replace(data.esimReference, idempotencyKeyOf(event, "replace"));
  }
}

@Module({ providers: [Orders, Faults] })
export class FaultsModule {}
