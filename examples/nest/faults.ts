import type { HandlerContext } from "@esim-webhooks/core";
import { type EsimEvent, OnEsimEvent } from "@esim-webhooks/nest";
import { Injectable, Module } from "@nestjs/common";

@Injectable()
export class Orders {
  async replace(esimReference: string) {
    console.log(`ordered a replacement of ${esimReference}`);
  }
}

@Injectable()
export class Faults {
  constructor(private readonly orders: Orders) {}

  @OnEsimEvent("esim.faulted")
  async onFault({ data }: EsimEvent<"esim.faulted">, context: HandlerContext) {
    context.logger.info({ reason: data.reason }, "An eSIM has a fault.");
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    return this.orders.replace(data.esimReference);
  }
}

@Module({ providers: [Orders, Faults] })
export class FaultsModule {}
