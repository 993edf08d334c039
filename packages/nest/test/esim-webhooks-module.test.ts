import { newSecret } from "@esim-webhooks/core/testing";
import { EsimWebhooks } from "@esim-webhooks/nest";
import { Controller, Get, Inject } from "@nestjs/common";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { HealthCheckService, TerminusModule } from "@nestjs/terminus";
import { expect, it, onTestFinished } from "vitest";
import { deliver, openSession, sendUnended } from "../../../test/support/http2-client.ts";
import { moduleTests } from "./module-tests.ts";
import { handlersClass, moduleOf, platforms, startNest } from "./nest-app.ts";

moduleTests("Nest 12");

it.each(platforms.map((platform) => [platform.name, platform] as const))(
  "Terminus answers 200 while a process on %s can receive, and 503 with the code of what is wrong",
  async (_, platform) => {
    class Health {
      readonly health: HealthCheckService;
      readonly webhooks: EsimWebhooks;
      constructor(health: HealthCheckService, webhooks: EsimWebhooks) {
        this.health = health;
        this.webhooks = webhooks;
      }
      ready() {
        return this.health.check([() => this.webhooks.isReady()]);
      }
    }
    Controller()(Health);
    Inject(HealthCheckService)(Health, undefined, 0);
    Inject(EsimWebhooks)(Health, undefined, 1);
    Get("readyz")(
      Health.prototype,
      "ready",
      Object.getOwnPropertyDescriptor(Health.prototype, "ready") ?? {},
    );
    const probes = moduleOf({ imports: [TerminusModule], controllers: [Health] }, "HealthModule");
    const metadata = { imports: [probes], providers: [handlersClass({ "*": () => {} })] };
    const { app, url } = await startNest(platform, { secret: newSecret() }, metadata);
    onTestFinished(() => app.close());
    const probe = async () => {
      const response = await fetch(`${url}/readyz`);
      const { details } = (await response.json()) as { readonly details: object };
      return [response.status, details];
    };
    const details = { process: "up", receiver: "up", status: "up" };
    expect(await probe()).toEqual([200, { "esim-webhooks": details }]);
    await app.get(EsimWebhooks).receiver?.close();
    const closed = { process: "up", receiver: "shutting_down", status: "down" };
    expect(await probe()).toEqual([503, { "esim-webhooks": closed }]);
  },
);

it("closes the streams of refused requests on HTTP/2, which Nest has on Fastify, and serves the others of their session", async () => {
  const secret = newSecret();
  const platform = { name: "Fastify", adapter: () => new FastifyAdapter({ http2: true }) } as const;
  const providers = [handlersClass({ "*": () => {} })];
  const { app, url } = await startNest(platform as never, { secret }, { providers });
  onTestFinished(() => app.close());
  const session = openSession(Number(new URL(url).port));
  const refused = Array.from({ length: 200 }, () => sendUnended(session, "/webhooks"));
  expect(await deliver(session, "/webhooks", secret)).toBe(200);
  for (const each of await Promise.all(refused)) expect(each).toEqual({ status: 400, code: 0 });
});
