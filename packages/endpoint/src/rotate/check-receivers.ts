import { randomBytes, randomUUID } from "node:crypto";
import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { answerText, dateTimeMs, namedEnvironment, variableIn } from "@esim-webhooks/core/internal";
import type { EndpointErrorCode } from "../base/errors.ts";
import { changeUnderWay } from "../change/change-under-way.ts";
import { holdOffUntil } from "../change/service-call.ts";
import { readKeys, writeRecord } from "../change/write-record.ts";
import type { RotateSettings } from "./rotate-options.ts";
import { presentRecord } from "./rotation-record.ts";

type CheckSettings = Pick<RotateSettings, "clock" | "signal" | "logger">;

/** How many deliveries are posted concurrently: behind a load balancer, they can reach several receivers. */
const posts = 5;
const timeoutMs = 10_000;
/** How far a receiver's clock may be from ours, in ms: half the time for which receivers still answer 503 once the new key is stored. */
const mostSkewMs = 30_000;

interface Answer {
  readonly status: number;
  /** Whether a receiver has answered, and holds off unknown signatures. */
  readonly holdsOff: boolean;
  /** How far the receiver's clock is ahead of ours, in ms; NaN without a `Date` header. */
  readonly aheadMs: number;
}

/**
 * Has the receivers hold off unknown signatures, and checks that they do, before the service is asked for a secret. If they are ready, they
 * keep holding off. Otherwise undoes the hold-off and rejects with `receivers_not_ready`. No change is under way yet, so the run after a kill checks them, too.
 */
export async function holdOffAndCheck(
  keyStore: KeyStore,
  url: string,
  settings: CheckSettings,
): Promise<void> {
  const { clock } = settings;
  await refuseOtherHoldOff(keyStore, url, settings);
  const own = { rotatingUntil: holdOffUntil(clock.now()) };
  let replaced: { readonly rotatingUntil?: string } = {};
  const hold = (now: KeyRecord): KeyRecord => {
    const { rotatingUntil } = now;
    // the record already has our hold-off if the answer of a write was lost
    if (rotatingUntil !== own.rotatingUntil) replaced = rotatingUntil === undefined ? {} : { rotatingUntil };
    return { ...now, ...own };
  };
  const release = (now: KeyRecord): KeyRecord =>
    now.rotatingUntil === own.rotatingUntil ? { keys: now.keys, ...replaced } : now;
  const held = await writeRecord(keyStore, undefined, hold, clock);
  if (held === undefined) {
    const { change } = presentRecord(await readKeys(keyStore));
    throw change === undefined ? changedDuringCheck() : changeUnderWay(change);
  }
  try {
    await checkReceivers(url, settings);
  } catch (error) {
    await writeRecord(keyStore, undefined, release, clock).catch(() => {}); // the hold-off ends by itself
    throw error;
  }
}

/**
 * Looks for a hold-off in another key store, which would let `checkReceivers` pass: before ours is written, it posts one delivery with an
 * unknown signature. Rejects with `receivers_not_ready` if a receiver holds it off though our key store does not say so.
 */
async function refuseOtherHoldOff(
  keyStore: KeyStore,
  url: string,
  { clock, signal }: CheckSettings,
): Promise<void> {
  const answer = await answerOf(url, clock.now, signal);
  signal.throwIfAborted();
  if (!answer?.holdsOff) return;
  const { rotatingUntil } = presentRecord(await readKeys(keyStore));
  if (dateTimeMs(rotatingUntil) > clock.now()) return;
  throw notReady(
    "A receiver already answers 503 to an unknown signature, as in a rotation, though none is under way in this key store: the receiver reads another one.",
    "Have all receivers read this key store, and rotate again.",
  );
}

/**
 * Checks that receivers read the key store: posts deliveries with an unknown signature to the endpoint, which the receivers should hold off.
 * Rejects with `receivers_not_ready` if one is answered 401, or if the clock of a receiver is wrong. Any other answer, or none, is only a
 * warning.
 */
export async function checkReceivers(url: string, { clock, signal, logger }: CheckSettings): Promise<void> {
  const post = () => answerOf(url, clock.now, signal);
  const answers = await Promise.all(Array.from({ length: posts }, post));
  signal.throwIfAborted();
  const answered = answers.filter((answer) => answer !== undefined);
  const refused = answered.filter(({ status }) => status === 401).length;
  if (refused > 0) {
    throw notReady(
      `${refused} of ${posts} deliveries with an unknown signature were answered 401: a receiver does not read this key store, or its clock is more than 10 minutes ahead.`,
      `Have all receivers read this key store, not ${variableIn(namedEnvironment(), "ESIM_WEBHOOK_SECRET")} (in a container, mount the folder of a key file, never the file), and rotate again. If something else answers 401 there, set { checkReceivers: false }.`,
      "checkReceivers",
    );
  }
  const holding = answered.filter(({ holdsOff }) => holdsOff);
  const skewMs = Math.max(0, ...holding.map(({ aheadMs }) => Math.abs(aheadMs) || 0));
  if (skewMs > mostSkewMs) {
    throw notReady(
      `The clocks of a receiver and of this machine are ${Math.round(skewMs / 1000)} s apart: keys would end too early, or begin too late.`,
      "Set both (NTP), and rotate again.",
    );
  }
  if (holding.length === posts) return logger.info({}, "Receivers read the key store.");
  logger.warn(
    { answers: answers.map((answer) => answer?.status ?? null) },
    "Nothing shows that all receivers read the key store: not every post with an unknown signature was answered 503 rotating. A receiver that does not read it refuses all deliveries after the rotation.",
  );
}

/** Resolves to undefined if nothing answers, or the signal aborts. */
async function answerOf(url: string, now: () => number, signal: AbortSignal): Promise<Answer | undefined> {
  try {
    const { address, authorization } = requestOf(url);
    const answer = await fetch(address, {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        ...authorization,
        "webhook-id": `check-${randomUUID()}`,
        "webhook-timestamp": String(Math.floor(now() / 1000)),
        "webhook-signature": `v1,${randomBytes(32).toString("base64")}`, // random, like a signature by a secret that no receiver has yet
      },
      body: "{}",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const aheadMs = Date.parse(answer.headers.get("date") ?? "") - now();
    return { status: answer.status, holdsOff: isRotating(await answerText(answer)), aheadMs };
  } catch {
    return undefined;
  }
}

/** `fetch` takes no URL with a user or a password: they go into the header, as other HTTP clients send them. */
function requestOf(url: string): {
  readonly address: URL;
  readonly authorization: Readonly<Record<string, string>>;
} {
  const address = new URL(url);
  const { username, password } = address;
  if (username === "" && password === "") return { address, authorization: {} };
  address.username = address.password = "";
  const user = decodeURIComponent(`${username}:${password}`);
  return { address, authorization: { authorization: `Basic ${Buffer.from(user).toString("base64")}` } };
}

function isRotating(text: string): boolean {
  try {
    return (JSON.parse(text) as { readonly code?: unknown }).code === "rotating";
  } catch {
    return false; // not the answer of a receiver
  }
}

function changedDuringCheck(): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "change_under_way",
    "Another process has changed the keys while the receivers were checked. The secret was not replaced.",
    "Rotate again, unless the other process has rotated this endpoint.",
  );
}

function notReady(problem: string, remedy: string, option?: string): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "receivers_not_ready",
    `${problem} The secret was not replaced.`,
    remedy,
    { option },
  );
}
