// npm run demo: a receiver in Express, and every kind of delivery that a sender may send, over real HTTP.
import type { AddressInfo } from "node:net";
import type { EsimEvents, Handlers } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";
import { startAccepting } from "./crash.ts";
import { type Result, report } from "./report.ts";
import type { Sent, Step } from "./steps.ts";

process.env["ESIM_WEBHOOK_SECRET"] = newSecret();
const { crash, steps } = await import("./steps.ts");

const runs: string[] = [];
const effects: string[] = [];
/** Resolves once all deliveries of the step but one are answered. */
let others = Promise.resolve();

const handlers: Handlers<EsimEvents> = {
  "*": async ({ id }) => {
    runs.push(id);
    await others; // so that concurrent deliveries overlap
    if (id === "msg_flaky" && !runs.slice(0, -1).includes(id))
      throw new Error("the database was unavailable");
    effects.push(id);
  },
};

const app = express();
app.use(webhookRouter(handlers));
const server = app.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;

async function deliver({ headers, body }: Sent, to: string): Promise<Result["answers"][number]> {
  const response = await fetch(to, { method: "POST", headers, body });
  const answer = (await response.json()) as { outcome?: string; code?: string };
  return { status: response.status, outcome: answer.outcome ?? answer.code ?? "" };
}

const results: Result[] = [];

/** Sends the deliveries of a step, calls `andThen`, and records the answers and how often the handler ran. */
async function runStep(step: Step, to: string, andThen?: () => Promise<void>): Promise<void> {
  const before = runs.length;
  const met = Promise.withResolvers<void>();
  others = met.promise;
  let unanswered = step.sent.length;
  if (unanswered <= 1) met.resolve();
  const answers = await Promise.all(
    step.sent.map(async (sent) => {
      const answer = await deliver(sent, to);
      unanswered -= 1;
      if (unanswered === 1) met.resolve();
      return answer;
    }),
  );
  await andThen?.();
  results.push({ step, answers, runs: runs.length - before });
}

for (const step of steps) await runStep(step, url);
server.close();
server.closeAllConnections();

const accepting = await startAccepting();
await runStep(crash.before, `${accepting.url}/webhooks`, accepting.crash);
await runStep(crash.after, "", () => accepting.processEvent(handlers));

const balanced = report(results, runs, effects);
process.exitCode = balanced ? 0 : 1;
