// Rotates once, as soon as it gets SIGUSR2, and prints what became of it.
import { once } from "node:events";
import { createClient, createLimiter } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import { rotateSecret } from "@esim-webhooks/endpoint";
import { fastClock } from "../fast-clock.ts";
import { openPlace, type Place } from "./place.ts";

/** What the process is to do, as JSON in its first argument. */
export interface Task {
  readonly api: { readonly baseUrl: string; readonly clientId: string; readonly clientSecret: string };
  readonly endpoint: string;
  readonly place: Place;
}

const { api: credentials, endpoint, place } = JSON.parse(process.argv[2] ?? "") as Task;
await using open = openPlace(place);
await open.keys.read(); // it is connected
const api = createClient({ ...credentials, limiter: createLimiter({ calls: 1000 }) });
const started = once(process, "SIGUSR2");
const alive = setInterval(() => {}, 1000);
console.log("ready");
await started;
clearInterval(alive);
const options = { clock: fastClock(), checkReceivers: false };
const outcome = await rotateSecret(api, endpoint, open.keys, options).then(
  () => "rotated",
  (error: unknown) => (WebhookError.is(error) ? error.code : String(error)),
);
console.log(outcome);
