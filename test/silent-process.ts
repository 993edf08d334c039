// A process of createRunner for tests, on an engine whose server is at SERVER: ENGINE is "redis", "bullmq" or "postgres". It ends by
// itself after SIGTERM, or not at all.
import { createWorker } from "@esim-webhooks/core";
import { createRunner, type RunnerOptions, type RunOptions } from "@esim-webhooks/core/run";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { postgresInbox } from "@esim-webhooks/store-postgres";
import { redisStore } from "@esim-webhooks/store-redis";

const server = process.env["SERVER"] ?? "";
const timeoutMs = 200;
const handlers = { "*": () => {} };

type Parts = Pick<RunnerOptions, "store" | "inbox" | "worker"> & Pick<RunOptions, "close">;

const engines: Record<string, () => Parts> = {
  redis() {
    const store = redisStore(`redis://${server}`, { timeoutMs });
    return { store, close: [store] };
  },
  bullmq() {
    const inbox = bullmqInbox({ connection: `redis://${server}`, timeoutMs });
    return { inbox, worker: inbox.createWorker(handlers, { shutdownMs: 100 }), close: [inbox] };
  },
  postgres() {
    const inbox = postgresInbox({ url: `postgres://${server}/database`, timeoutMs });
    return { inbox, worker: createWorker(inbox, handlers, { shutdownMs: 100 }), close: [inbox] };
  },
};

const { close, ...parts } = engines[process.env["ENGINE"] ?? ""]?.() ?? {};
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const runner = createRunner(parts);
const ended = runner.run({ signal: stop.signal, ...(close && { close }) });
await runner.readiness.check();
console.log("checked");
await ended;
console.log("resolved");
