import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { nodeHandler } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { sampleData } from "@esim-webhooks/core/testing";
import type { SwitchSettings } from "@esim-webhooks/sandbox";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
import { expect, it, onTestFinished } from "vitest";
import { runNode } from "../../../../test/run.ts";
import { reconcile } from "../../src/reconcile/reconcile.ts";
import type { Task } from "./killed-process.ts";
import { secretsOf, startService } from "./service.ts";

const first = ["esim.enabled", "esim.faulted"];
const second = ["esim.enabled", "esim.disabled"];

/** A partner: a receiver that stores events in a file, and refuses every fifth delivery for the time being. */
async function startPartner(switches: SwitchSettings) {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-kills-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const service = await startService({ speed: 100, switches: { rateLimit: "off", ...switches } });
  const keyFile = join(folder, "esim.key");
  const database = join(folder, "events.db");
  const inbox = sqliteInbox({ path: database });
  await inbox.migrate?.();
  const state = sqliteState({ path: database });
  await state.migrate?.();
  await fileKeySource(keyFile).write({ keys: [] }, undefined);
  const receiver = nodeHandler(inbox, { secret: fileKeySource(keyFile) });
  let arrived = 0;
  const server = createServer((request, response) => {
    arrived += 1;
    if (arrived % 5 > 0) return receiver(request, response);
    request.resume().on("end", () => response.writeHead(500).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await receiver.close();
    await Promise.all([inbox.close(), state.close()]);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
  const since = new Date(Date.now() - 60_000);

  /** Runs the task in processes that are killed at moments of which each comes up, or that the service fails, until one ends. */
  async function run(eventTypes: readonly string[], isReplacement: boolean): Promise<number> {
    const { url: baseUrl, credentials } = service.sandbox;
    const moments = [0, 1, 2, 3, 1, 4, 2, 5, 1, 3];
    for (let kills = 0; ; kills += 1) {
      const fatal = moments[kills] ?? 100;
      const task: Task = {
        ...{ baseUrl, credentials, url, eventTypes, keyFile, database, isReplacement, fatal },
        since: since.toISOString(),
      };
      const child = runNode([join(import.meta.dirname, "killed-process.ts"), JSON.stringify(task)]);
      const { code, output } = await child.ended;
      if (code === 0) return kills;
      if (output.includes("service_failed")) continue;
      expect({ output, signal: child.child.signalCode }).toEqual({ output: "", signal: "SIGKILL" });
    }
  }

  return { ...service, inbox, state, keyFile, run, since };
}

it.each([
  ["event", "on"],
  ["delivery", "off"],
] as const)(
  "replacing an endpoint under traffic loses no event, wherever it is killed; ids are per %s, and cacheErrors is %s",
  async (idPer, cacheErrors) => {
    const replayShowsSecret = idPer === "event" ? "on" : "off";
    const partner = await startPartner({ idPer, replayShowsSecret, cacheErrors });
    const { sandbox, api, inbox, endpoints } = partner;
    const failure = { kind: "error", call: "POST /management/webhooks", status: 500, times: 3 } as const;
    sandbox.faults.add(failure);
    expect(await partner.run(first, false)).toBeGreaterThan(2);
    sandbox.faults.add(failure);
    expect(await endpoints()).toMatchObject([{ eventTypes: first }]);

    const emitted: string[] = [];
    const emit = async (type: "esim.enabled" | "esim.faulted") => {
      const marker = `event ${emitted.push(`event ${emitted.length + 1}`)}`;
      await sandbox.emit({ type, data: { ...sampleData(type), marker } });
    };
    for (let n = 0; n < 50; n += 1) await emit("esim.faulted"); // the second endpoint does not get these
    const stop = new AbortController();
    const traffic = (async () => {
      while (!stop.signal.aborted) {
        await emit("esim.enabled");
        await pause(10);
      }
    })();
    expect(await partner.run(second, true)).toBeGreaterThan(4);
    stop.abort();
    await traffic;

    const [endpoint, ...others] = await endpoints();
    expect(endpoint).toMatchObject({ eventTypes: second });
    expect(others).toEqual([]);
    const { record } = (await fileKeySource(partner.keyFile).read()) ?? {};
    expect(secretsOf(record)).toEqual([endpoint?.signingSecret]);
    const reference = endpoint?.webhookEndpointReference ?? "";
    const { state, since } = partner;
    await reconcile(api, reference, inbox, { state, since, includeComing: true });

    const stored = await markersOf(inbox);
    expect([...new Set(stored)].toSorted()).toEqual(emitted.toSorted());
    if (idPer === "event") expect(stored).toHaveLength(emitted.length);
    else expect(stored.length).toBeGreaterThan(emitted.length); // those that the service sent under two ids
  },
);

async function markersOf(inbox: ReturnType<typeof sqliteInbox>): Promise<string[]> {
  const markers: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await inbox.list({}, { limit: 500, ...(cursor && { cursor }) });
    for (const { id, source } of page.rows) {
      const event = await inbox.get({ id, source });
      markers.push(JSON.parse(String(Buffer.from(event?.body ?? []))).data.marker);
    }
    if (page.nextCursor === null || page.nextCursor === undefined) return markers;
    cursor = page.nextCursor;
  }
}
