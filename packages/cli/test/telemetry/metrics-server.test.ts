import { createRunner } from "@esim-webhooks/core/run";
import { expect, it, onTestFinished } from "vitest";
import type { Output } from "../../src/program/context.ts";
import { serveMetrics } from "../../src/telemetry/metrics-server.ts";

it("the server of the metrics and probes takes GET and HEAD, and answers other methods 405", async () => {
  const notes: string[] = [];
  const output = { note: (text: string) => void notes.push(text) } as unknown as Output;
  const watched = { inbox: undefined, worker: undefined, catalog: undefined };
  onTestFinished(await serveMetrics({ metricsPort: 0 }, watched, createRunner({}), output));
  const [, url = ""] = /Metrics at (\S+)\/metrics/.exec(notes.join()) ?? [];
  for (const path of ["/metrics", "/livez", "/readyz", "/elsewhere"]) {
    const statuses = new Map<string, unknown>();
    for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]) {
      const { status, headers } = await fetch(`${url}${path}`, { method });
      expect([method, headers.get("connection")]).toEqual([method, "close"]);
      statuses.set(method, status === 405 ? headers.get("allow") : status);
    }
    const found = path === "/elsewhere" ? 404 : 200;
    const allow = "GET, HEAD";
    expect(Object.fromEntries(statuses)).toEqual({
      ...{ GET: found, HEAD: found },
      ...{ POST: allow, PUT: allow, DELETE: allow, OPTIONS: allow },
    });
  }
});
