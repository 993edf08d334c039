// A server of the door bench, in its own process: `door-server.ts <ours | hand-written>`.
import type { AddressInfo } from "node:net";
import { webhookRouter } from "@esim-webhooks/express";
import express, { type RequestHandler } from "express";
import { Webhook } from "standardwebhooks";

let lines = 0;
const count = () => {
  lines += 1;
};
const logger = { debug: count, info: count, warn: count, error: count };

/** A hand-written route: the whole body, with the same limit, then `standardwebhooks`, and a line for each delivery. */
function byHand() {
  const webhook = new Webhook(process.env["ESIM_WEBHOOK_SECRET"] ?? "");
  const answer: RequestHandler = (request, response) => {
    count();
    try {
      webhook.verify(request.body, request.headers as Record<string, string>);
      response.json({ outcome: "processed" });
    } catch {
      response.status(401).json({ code: "no_matching_key" });
    }
  };
  const signed: RequestHandler = (request, response, next) =>
    "webhook-id" in request.headers ? next() : response.status(400).json({ code: "missing_header" });
  return express().post("/webhooks", signed, express.raw({ type: () => true, limit: "1mb" }), answer);
}

const app =
  process.argv[2] === "ours" ? express().use(webhookRouter({ "*": () => {} }, { logger })) : byHand();
const server = app.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

// the parent writes to standard input to ask for the figures so far, and closes it to end this process
process.stdin.on("data", () => {
  console.log(JSON.stringify({ lines, rss: process.memoryUsage.rss() }));
});
process.stdin.on("end", () => process.exit());
