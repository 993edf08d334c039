import "reflect-metadata";
import { webhookRouter } from "@esim-webhooks/express";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

class Faults {
  note(reason: string) {
    console.log(`faulted: ${reason}`);
  }
}
class AppModule {}
Module({ providers: [Faults] })(AppModule); // as a decorator: @Module({ providers: [Faults] })

// `rawBody` is not needed
const app = await NestFactory.create(AppModule, { logger: false, rawBody: Boolean(process.env["RAW_BODY"]) });
const faults = app.get(Faults);
app.use(webhookRouter({ "esim.faulted": ({ data }) => faults.note(data.reason) }));
app.enableShutdownHooks();
await app.listen(process.env["PORT"] ?? 3000, "127.0.0.1").catch((error: Error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
console.log(`listening at ${await app.getUrl()}`);
