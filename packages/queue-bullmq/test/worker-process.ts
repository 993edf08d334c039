/** A worker of the inbox on REDIS_URL, until SIGTERM. Its handler ends, or with HANDLER=hangs never does. */
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";

const { REDIS_URL = "", HANDLER } = process.env;
const inbox = bullmqInbox({ connection: REDIS_URL, timeoutMs: 1000 });
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

const handler = async () => {
  console.log("handling");
  if (HANDLER === "hangs") await new Promise(() => {});
};
const running = inbox.createWorker({ "*": handler }, { shutdownMs: 0 }).run({ signal: stopping.signal });
console.log("running");
await running;
console.log("stopped");
await inbox.close();
