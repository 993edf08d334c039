// npm run demo: a receiver in Express, and everything a sender may throw at it, over real HTTP.
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { newSecret } from "@esim-webhooks/core/testing";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";
import { type Result, report } from "./report.ts";
import type { Sent } from "./steps.ts";

process.env["ESIM_WEBHOOK_SECRET"] = newSecret();
const { steps } = await import("./steps.ts");

const runs: string[] = [];
const effects: string[] = [];

const app = express();
app.use(
  webhookRouter({
    "*": async ({ id }) => {
      runs.push(id);
      await pause(50); // some work, so that deliveries of the same moment meet
      if (id === "msg_flaky" && !runs.slice(0, -1).includes(id)) throw new Error("the database was away");
      effects.push(id);
    },
  }),
);
const server = app.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;

async function deliver({ headers, body }: Sent): Promise<{ status: number; outcome: string }> {
  const response = await fetch(url, { method: "POST", headers, body });
  const answer = (await response.json()) as { outcome?: string; code?: string };
  return { status: response.status, outcome: answer.outcome ?? answer.code ?? "" };
}

const results: Result[] = [];
for (const step of steps) {
  const before = runs.length;
  const answers = await Promise.all(step.sent.map(deliver));
  results.push({ step, answers, runs: runs.length - before });
}
server.close();
server.closeAllConnections();

const balanced = report(results, runs, effects);
process.exitCode = balanced ? 0 : 1;
