import { randomBytes, randomUUID } from "node:crypto";
import { type KeyStore, WebhookError } from "@esim-webhooks/core";
import { answerText, dateTimeMs } from "@esim-webhooks/core/kit";
import type { EndpointErrorCode } from "../base/errors.ts";
import type { RotateSettings } from "./rotate-options.ts";
import { presentKeys } from "./write-rotation.ts";

/** How many deliveries are posted at once: behind a load balancer, they come to several receivers. */
const posts = 5;
const timeoutMs = 10_000;
/** How far a receiver's clock may be from ours: half of how long the 503 lasts once the new key is stored. */
const mostSkewMs = 30_000;

interface Answer {
  readonly status: number;
  /** Whether it is a receiver's, and says that it holds off unknown signatures. */
  readonly holdsOff: boolean;
  /** How far its clock is ahead of ours, in ms; NaN if it does not tell. */
  readonly aheadMs: number;
}

/**
 * Looks for a hold-off in another key store, which would let `checkReceivers` pass: before ours is written, it posts one delivery whose
 * signature nobody knows. Rejects with `receivers_not_ready` if a receiver holds it off though our key store does not say so.
 */
export async function refuseOtherHoldOff(
  url: string,
  keyStore: KeyStore,
  { clock, signal }: Pick<RotateSettings, "clock" | "signal">,
): Promise<void> {
  const answer = await answerOf(url, clock.now, signal);
  signal.throwIfAborted();
  if (!answer?.holdsOff) return;
  const { rotatingUntil } = await presentKeys(keyStore);
  if (dateTimeMs(rotatingUntil) > clock.now()) return;
  throw notReady(
    "A receiver already answers 503 to an unknown signature, as in a rotation, though none is under way in this key store: the receiver reads another one.",
    "Have all receivers read this key store, and rotate again.",
  );
}

/**
 * Shows that receivers read the key store, before the service is asked for a secret: it posts deliveries whose signature nobody knows to
 * the endpoint, and the receivers must hold them off. Rejects with `receivers_not_ready` if one refuses them, or if its clock is wrong. If
 * the endpoint cannot be reached from here, or something else answers, that is a warning.
 */
export async function checkReceivers(
  url: string,
  { clock, signal, logger }: Pick<RotateSettings, "clock" | "signal" | "logger">,
): Promise<void> {
  const post = () => answerOf(url, clock.now, signal);
  const answers = await Promise.all(Array.from({ length: posts }, post));
  signal.throwIfAborted();
  const refused = answers.filter((answer) => answer?.status === 401).length;
  if (refused > 0) {
    throw notReady(
      `${refused} of ${posts} deliveries with an unknown signature were answered 401: a receiver does not read this key store, or its clock is more than 10 minutes ahead.`,
      "Have all receivers read this key store (in a container, mount the folder of a key file, never the file), and rotate again. If something else answers 401 there, use checkReceivers: false.",
      "checkReceivers",
    );
  }
  const holding = answers.filter((answer) => answer?.holdsOff);
  const skewMs = Math.max(0, ...holding.map((answer) => Math.abs(answer?.aheadMs ?? 0) || 0));
  if (skewMs > mostSkewMs) {
    throw notReady(
      `The clocks of a receiver and of this machine are ${Math.round(skewMs / 1000)} s apart: keys would end too early, or begin too late.`,
      "Set both (NTP), and rotate again.",
    );
  }
  if (holding.length === posts) return logger.info({}, "Receivers read the key store.");
  logger.warn(
    { answers: answers.map((answer) => answer?.status ?? null) },
    "Nothing shows that receivers read the key store: not all of them could be reached from here. If they do not, what comes after the rotation is refused.",
  );
}

/** Undefined if nothing answers. */
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
        "webhook-signature": `v1,${randomBytes(32).toString("base64")}`, // as a secret would make that nobody knows yet
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
    return (JSON.parse(text) as { readonly code?: unknown } | null)?.code === "rotating";
  } catch {
    return false; // somebody else's answer
  }
}

function notReady(problem: string, remedy: string, option?: string): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>(
    "receivers_not_ready",
    `${problem} The secret was not replaced.`,
    remedy,
    { option },
  );
}
