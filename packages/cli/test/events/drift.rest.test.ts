import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { createProcessor, type Handlers } from "@esim-webhooks/core";
import type { FaultSettings, Sandbox } from "@esim-webhooks/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { root } from "../../../../test/run.ts";
import { freePort } from "../../../../test/servers/kept-server.ts";
import { startService } from "../api/service.ts";
import { type Begun, begin, cli, folder, jsonLines, startLine } from "../cli.ts";
import { openPage } from "../endpoint/page.ts";

interface Served {
  readonly sandbox: Sandbox;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly running: Begun;
  /** Of an eSIM whose events are delivered. */
  readonly data: object;
}

/** The sandbox, and `serve` with all of its events. */
async function serveSandbox(): Promise<Served> {
  const { sandbox, api, env: ofApi } = await startService({ clock: "manual" });
  const port = await freePort();
  const eventTypes: string[] = [];
  for (const { eventType } of await api.catalog.webhookEventTypes()) eventTypes.push(eventType as string);
  const { signingSecret: secret } = await api.webhooks.create({
    url: `http://127.0.0.1:${port}/webhooks`,
    eventTypes,
  });
  const cwd = folder();
  const env = { ...ofApi, ESIM_WEBHOOK_SECRET: secret };
  const running = begin(["serve", "--port", String(port), "--metrics-port", "0"], { cwd, env });
  onTestFinished(async () => {
    running.kill("SIGTERM");
    await running.ended;
  });
  await running.written(/Listening at/);
  const { profileReference, esimReference, iccid } = (await (await sandbox.orderEsim()).show()) as never;
  await sandbox.settled();
  return { sandbox, cwd, env, running, data: { profileReference, esimReference, iccid } };
}

/** The findings of a type on the page Types of the dashboard. */
async function shownOn(type: string, place: Pick<Served, "cwd" | "env">): Promise<unknown> {
  const dashboard = begin(["dashboard", "--port", "0"], place);
  const [url = ""] = await dashboard.written(/http:\/\/[\w.:[\]]+\/[\w-]+\//);
  const headers = { "content-type": "application/json", "x-esim-webhooks-dashboard": "1" };
  const view = await fetch(`${url}api/types`, { method: "POST", headers, body: "{}" });
  const { types } = (await view.json()) as { types: { type: string; drift: unknown }[] };
  dashboard.kill("SIGTERM");
  await dashboard.ended;
  return types.find((each) => each.type === type)?.drift;
}

it("a new user finds a changed reason with its first event, with the lines of docs/drift.md", async () => {
  const { sandbox, cwd, env, running } = await serveSandbox();
  const { commands } = openPage("docs/drift.md").take("Try it in a minute", 1);
  const place = { cwd, env: { ...env, CONTROL: sandbox.controlUrl } };
  const run = async (line = "") => startLine(line, place).ended;
  const [, fault, event, drift, ...others] = commands;
  expect(others).toEqual([]);
  expect([(await run(fault)).code, (await run(event)).code]).toEqual([0, 0]);
  await running.written(/"drift":"new_value"/); // the first event, in the log
  const text = "reason of esim.faulted has a value that is not documented: no_memory_left";
  expect(await run(drift)).toMatchObject({ code: 3, stdout: expect.stringContaining(text) });
  expect(await shownOn("esim.faulted", place)).toEqual([text]);
});

describe("drift, from the service to where the user sees it", () => {
  const faulted = { reason: "user_rejected" };
  const changes: [string, FaultSettings | undefined, string, object, string][] = [
    [
      "a new field",
      { kind: "other_shape", set: { channel: "app" } },
      "esim.faulted",
      faulted,
      "esim.faulted has a new field: channel (string)",
    ],
    [
      "a field that is missing",
      { kind: "other_shape", unset: ["esimReference"] },
      "esim.faulted",
      faulted,
      "esim.faulted no longer always has esimReference",
    ],
    [
      "another JSON type",
      { kind: "other_shape", set: { iccid: 8932042000010012 } },
      "esim.faulted",
      faulted,
      "iccid of esim.faulted has another JSON type: number",
    ],
    [
      "a changed reason",
      { kind: "new_reason" },
      "esim.faulted",
      faulted,
      "reason of esim.faulted has a value that is not documented: unheard_of",
    ],
    ["a new type", undefined, "package.usage", {}, "the catalog does not have package.usage"],
  ];

  it.each(changes)(
    "%s is in the log, the metrics, doctor, the dashboard and the list with its first event",
    async (_, fault, type, more, text) => {
      const { sandbox, cwd, env, running, data } = await serveSandbox();
      if (fault !== undefined) sandbox.faults.add(fault);
      await sandbox.emit({ type, data: { ...data, ...more } });
      await sandbox.settled();

      const [line] = await running.written(/^.*"drift":"\w+".*$/m);
      expect(JSON.parse(line)).toMatchObject({ level: "warn", type });
      const [, metrics = ""] = await running.written(/Metrics at (\S+),/);
      expect(await (await fetch(metrics)).text()).toMatch(/^esim_webhooks_drift_total\{kind="\w+".*\} 1/m);

      const doctor = await cli(["doctor", "--json"], { cwd, env });
      const [{ checks }] = jsonLines(doctor) as never as [{ checks: { name: string }[] }];
      expect(checks.find(({ name }) => name === "drift")).toMatchObject({
        ok: true,
        warning: true,
        message: expect.stringContaining(text),
      });

      expect(await shownOn(type, { cwd, env })).toEqual([text]);

      const listed = await cli(["events", "drift"], { cwd, env });
      expect(listed).toMatchObject({ code: 3, stdout: expect.stringContaining(text) });
      const ended = await cli(["events", "drift", "--acknowledge"], { cwd, env });
      expect(ended).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("1 finding was acknowledged."),
      });
      expect(await cli(["events", "drift"], { cwd, env })).toMatchObject({ code: 0, stdout: "" });
    },
  );
});

describe("events describe", () => {
  it("prints the undocumented events of the sandbox as a catalog, which types their handlers", async () => {
    const { sandbox, cwd, env, running } = await serveSandbox();
    const esim = await sandbox.orderEsim();
    await esim.orderPackage();
    await esim.orderPackage();
    await sandbox.settled();
    await running.written(
      /"drift":"new_type","type":"package.activated"|"type":"package.activated","drift":"new_type"/,
    );
    const printed = await cli(["events", "describe", "package.activated"], { cwd, env });
    expect(printed.code).toBe(0);
    expect(printed.stdout).toMatch(/^\/\/ seen \d+ times since \d{4}-\d\d-\d\d \d\d:\d\dZ\. /m);
    expect(printed.stdout).toContain('"packageReference": z.string(),');
    writeFileSync(join(cwd, "catalog.ts"), printed.stdout);
    expect(printed.stdout).not.toContain(esim.esimReference);

    const { catalog } = await import(/* @vite-ignore */ pathToFileURL(join(cwd, "catalog.ts")).href);
    const references: string[] = [];
    const handler = ({ data }: { data: { packageReference: string } }) =>
      references.push(data.packageReference);
    const processor = createProcessor({ "package.activated": handler } as Handlers<never>, { catalog });
    for await (const line of createInterface({ input: Readable.from(sandbox.dump()) })) {
      const { eventId: id, payload } = JSON.parse(line);
      if (payload.type === "package.activated")
        expect(await processor.process({ id, ...payload })).toEqual({ code: "processed" });
    }
    expect(references).toHaveLength(2);
    expect(typeErrors(cwd, "packageReference")).toBe("");
    expect(typeErrors(cwd, "packageRefrence")).toContain("'unknown' is not assignable"); // a misspelt field
  });

  it("prints a JSON Schema, and says which types were seen", async () => {
    const { sandbox, cwd, env, running } = await serveSandbox();
    await sandbox.emit({ type: "package.usage", data: { used: 5, plan: null } });
    await sandbox.emit({ type: "package.usage", data: { used: "5" } });
    await sandbox.settled();
    await running.written(/"drift":"new_type"/);
    const printed = async () =>
      JSON.parse((await cli(["events", "describe", "package.usage", "--json"], { cwd, env })).stdout);
    await expect.poll(printed).toMatchObject({
      $comment: expect.stringMatching(/^seen 2 times since /),
      properties: {
        used: { type: ["string", "number"] },
        plan: { $comment: "seen as null, not in every event" },
      },
      required: ["used"],
    });
    expect(await cli(["events", "describe", "package.usagee"], { cwd, env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("package.usage"),
    });
  });
});

/** The errors of a handler that reads a field of the printed catalog. */
function typeErrors(cwd: string, field: string): string {
  const handler = `import type { DataOf, Handlers } from "@esim-webhooks/core";
    import { catalog } from "./catalog.ts";
    export const handlers: Handlers<DataOf<typeof catalog>> = {
      "package.activated": ({ data }) => { const text: string = data.${field}; console.log(text); },
    };`;
  writeFileSync(join(cwd, "handlers.ts"), handler);
  const flags =
    "--noEmit --strict --skipLibCheck --module nodenext --target es2024 --allowImportingTsExtensions --types node";
  const args = [...flags.split(" "), "--customConditions", "@esim-webhooks/source", "handlers.ts"];
  return spawnSync(join(root, "node_modules/.bin/tsc"), args, { cwd, encoding: "utf8" }).stdout;
}
