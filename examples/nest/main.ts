import { EsimWebhooksModule } from "@esim-webhooks/nest";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { FaultsModule } from "./faults.ts";

// the secret comes from ESIM_WEBHOOK_SECRET
@Module({ imports: [EsimWebhooksModule.forRoot(), FaultsModule] })
class AppModule {}

const adapter = process.env["PLATFORM"] === "fastify" ? new FastifyAdapter() : new ExpressAdapter();
const app = await NestFactory.create(AppModule, adapter);
app.enableShutdownHooks();
await app.listen(process.env["PORT"] ?? 3000, "127.0.0.1").catch((error: Error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
console.log(`listening at ${await app.getUrl()}`);
