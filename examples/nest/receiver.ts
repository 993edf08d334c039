// stores events and answers 202; worker.ts handles them
import { EsimWebhooksModule } from "@esim-webhooks/nest";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

const path = process.env["EVENTS"] ?? "events.db";

@Module({
  imports: [EsimWebhooksModule.forRootAsync({ useFactory: () => ({ inbox: sqliteInbox({ path }) }) })],
})
class ReceiverModule {}

const app = await NestFactory.create(ReceiverModule);
app.enableShutdownHooks();
await app.listen(process.env["PORT"] ?? 3000, "127.0.0.1").catch((error: Error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
console.log(`listening at ${await app.getUrl()}`);
