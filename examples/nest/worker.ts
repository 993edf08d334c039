// handles the events that receiver.ts stores, in a process without HTTP
import { EsimWebhooksModule } from "@esim-webhooks/nest";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FaultsModule } from "./faults.ts";

const path = process.env["EVENTS"] ?? "events.db";

@Module({
  imports: [
    EsimWebhooksModule.forRootAsync({
      useFactory: () => ({ inbox: sqliteInbox({ path }), worker: { concurrency: 20 } }),
    }),
    FaultsModule,
  ],
})
class WorkerModule {}

const worker = await NestFactory.createApplicationContext(WorkerModule);
worker.enableShutdownHooks();
console.log("working");
