import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { type Run, root } from "../../../test/run.ts";
import { runInTest } from "../../../test/support/run-in-test.ts";
import { keysIn } from "../../../test/support/several-ids.ts";

const secret = newSecret();

// Node.js cannot run decorators, so the example is compiled as a user's application is
beforeAll(() => {
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-b", "examples/nest"], { cwd: root });
});

function run(program: string, environment: Record<string, string>): Run {
  const file = `node_modules/.cache/examples-nest/${program}.js`;
  return runInTest([file], { ESIM_WEBHOOK_SECRET: secret, PORT: "0", NO_COLOR: "1", ...environment });
}

/** The same event each time, under another id. */
async function send(base: string, reason: string): Promise<unknown> {
  const data = { ...sampleData("esim.faulted"), reason };
  const event = { type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data } as const;
  const response = await fetch(new URL("/webhooks", base), signedRequest(event, { secret }));
  return [response.status, await response.json()];
}

it.each(["express", "fastify"])(
  "main.ts on %s orders a replacement with an injected service, for a dead download order only, under one key for each event, and stops on SIGTERM",
  async (PLATFORM) => {
    const server = run("main", { PLATFORM });
    const [, base = ""] = await server.line(/listening at (\S+)/);
    expect(await send(base, "download_order_expired")).toEqual([200, { outcome: "processed" }]);
    await server.line(/^ordered a replacement of /);
    await server.line(/LOG \[EsimWebhooks\] An eSIM has a fault\. \{.*"reason":"download_order_expired"/);
    expect(await send(base, "download_order_expired")).toEqual([200, { outcome: "processed" }]);
    expect(await send(base, "profile_install_failed")).toEqual([200, { outcome: "discarded" }]);
    server.child.kill("SIGTERM");
    const { output } = await server.ended;
    expect(output.match(/^ordered/gm)).toHaveLength(2);
    expect(new Set(keysIn(output)).size).toBe(1);
    expect(output).toContain(
      "Webhooks: POST /webhooks, handlers run inline; esim.faulted → Faults.onFault (FaultsModule)",
    );
  },
);

it("receiver.ts stores what worker.ts handles in another process, and both stop on SIGTERM", async () => {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-nest-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const EVENTS = join(folder, "events.db");
  const receiver = run("receiver", { EVENTS });
  const [, base = ""] = await receiver.line(/listening at (\S+)/);
  const stored = [202, { outcome: "stored" }];
  await expect.poll(() => send(base, "download_order_expired")).toEqual(stored); // 503 if its thread took 5 s to start
  const worker = run("worker", { EVENTS });
  await worker.line(/^ordered a replacement of /);
  for (const process of [worker, receiver]) {
    process.child.kill("SIGTERM");
    expect((await process.ended).output).not.toMatch(/error/i);
  }
});
