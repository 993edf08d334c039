import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sampleData } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { startReceiver, startService } from "../api/service.ts";
import { cli, folder } from "../cli.ts";

/** An endpoint whose receiver answers 400, so that the service gives up each delivery immediately. */
async function refusingEndpoint() {
  const service = await startService();
  const { sandbox, api } = service;
  const url = await startReceiver(400, "");
  const { webhookEndpointReference } = await api.webhooks.create({ url, eventTypes: ["esim.faulted"] });
  const cwd = folder();
  return {
    cwd,
    run: (...args: string[]) => cli(args, { cwd, env: service.env }),
    setActive: (active: boolean) => sandbox.setEndpointActive(webhookEndpointReference, active),
    async emit() {
      const [id] = await sandbox.emit({ type: "esim.faulted", data: sampleData("esim.faulted") });
      await sandbox.settled();
      return id as string;
    },
  };
}

it("replay-request prints what to ask support for, and the next import and reconcile say what has arrived", async () => {
  const { cwd, run, setActive, emit } = await refusingEndpoint();
  await setActive(false);
  expect((await run("reconcile", "--since", "1h")).code).toBe(3);
  await setActive(true);
  const id = await emit();

  const asked = await run("replay-request");
  expect(asked.code).toBe(3);
  expect(asked.stdout).toMatch(/^Request for a replay to the webhook endpoint \S+, \S+ \S+\n/);
  expect(asked.stdout).toMatch(/\n {2}from \S+ \S+ to \S+ \S+: all event types\n/);
  expect(asked.stdout).toMatch(new RegExp(`\\n {2}${id} {2}esim\\.faulted {2}\\S+Z\\n`));
  expect(asked.stderr).toContain("The next reconcile or import says which of them have arrived.");
  const { iccid, esimReference } = sampleData("esim.faulted");
  for (const personal of [iccid, esimReference]) expect(asked.stdout).not.toContain(personal);
  const { periods } = JSON.parse((await run("replay-request", "--json")).stdout);

  const payload = { type: "esim.faulted", timestamp: periods[0].to, data: sampleData("esim.faulted") };
  writeFileSync(
    join(cwd, "dump.json"),
    JSON.stringify({ eventId: "msg_replayed", eventType: "esim.faulted", payload }),
  );
  const imported = await run("import", "dump.json", "--trust-unsigned");
  expect(imported.stderr).toMatch(
    /there have arrived:\n {2}0 of 1 event\n {2}1 event from .*\nFound now: msg_replayed\n/,
  );

  const reconciled = await run("reconcile");
  expect(reconciled.stdout).toMatch(
    new RegExp(`there have arrived:\n {2}1 of 1 event\n {2}2 events from .*\nFound now: ${id}\n`),
  );
});

it("with nothing to ask for, replay-request says so and ends with 0", async () => {
  const { run } = await refusingEndpoint();
  const asked = await run("replay-request");
  expect([asked.code, asked.stdout]).toEqual([0, ""]);
  expect(asked.stderr).toContain("There is nothing to ask support for.");
  expect(asked.stderr).toContain("No pass of reconcile has noted whether the endpoint was active");
});
