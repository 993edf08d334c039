import { createClient } from "@esim-webhooks/client";
import { sampleData } from "@esim-webhooks/core/testing";
import { startSandbox } from "@esim-webhooks/sandbox";
import { expect, onTestFinished } from "vitest";

/** Two services that have two endpoints each at one URL: the first gives each delivery an id of its own, the second each event. */
export interface SeveralIds {
  /** The secrets of all endpoints, for `ESIM_WEBHOOK_SECRET`. */
  readonly secrets: string;
  /** Each service sends an event: an order that has expired. */
  send(): Promise<void>;
  /** Support sends both again, under their ids and under new ones. Returns all ids. Every delivery must have been acknowledged. */
  replay(): Promise<ReadonlySet<string>>;
}

export async function servicesWithSeveralIds(url: string): Promise<SeveralIds> {
  const services = await Promise.all(
    (["delivery", "event"] as const).map(async (idPer) => {
      const sandbox = await startSandbox({ clock: "manual", switches: { idPer } });
      onTestFinished(() => sandbox.close());
      const api = createClient({ baseUrl: sandbox.url, ...sandbox.credentials });
      const create = (name: string) =>
        api.webhooks.create({ url: `${url}?endpoint=${name}`, eventTypes: ["esim.faulted"] });
      return { idPer, sandbox, api, endpoints: [await create("one"), await create("other")] };
    }),
  );
  return {
    secrets: services.flatMap(({ endpoints }) => endpoints.map((it) => it.signingSecret)).join(" "),
    async send() {
      for (const { idPer, sandbox } of services) {
        const timestamp = { delivery: "2026-11-20T12:00:01Z", event: "2026-11-20T12:00:02Z" }[idPer];
        sandbox.faults.add({ kind: "cut" });
        await sandbox.emit({ type: "esim.faulted", timestamp, data: sampleData("esim.faulted") });
        await sandbox.advance("30s");
      }
    },
    async replay() {
      const ids = new Set<string>();
      for (const { sandbox, api, endpoints } of services) {
        for (const under of ["same", "new"] as const) {
          await sandbox.replay({ under });
          await sandbox.advance("30s"); // the same id at two endpoints: one of them may have been busy
        }
        for (const { webhookEndpointReference } of endpoints) {
          for await (const { status, eventId } of api.webhooks.deliveries(webhookEndpointReference)) {
            expect(status).toBe("delivered");
            ids.add(String(eventId));
          }
        }
      }
      return ids;
    },
  };
}

/** The keys of the effects that a process has printed. */
export const keysIn = (output: string): string[] =>
  Array.from(output.matchAll(/, key (\S+)$/gm), ([, key = ""]) => key);
