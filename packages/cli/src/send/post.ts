import { answerText } from "@esim-webhooks/core/internal";
import type { SignedRequest } from "@esim-webhooks/core/testing";
import { programError } from "../program/program-error.ts";

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly ms: number;
}

/** No complete answer came. */
export interface NoAnswer {
  /** `unconnected`: nothing listens there. `late`: it took longer than the sender waits. `broken`: the connection failed later, or sent no HTTP. */
  readonly reason: "unconnected" | "late" | "broken";
  readonly cause: unknown;
  readonly ms: number;
}

/** The sender gives up on an answer after this time. */
const timeoutMs = 30_000;
const shownCharacters = 4096;

/** Sends the request with the sender's time limit. Follows no redirects, since the spec names none. */
export async function tryPost(url: string, request: SignedRequest): Promise<Answer | NoAnswer> {
  const startedAt = performance.now();
  const ms = () => Math.round(performance.now() - startedAt);
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { ...request, redirect: "manual", signal });
    const body = (await answerText(response)).slice(0, shownCharacters);
    return { status: response.status, body, ms: ms() };
  } catch (cause) {
    const isLate = (cause as Error).name === "TimeoutError";
    return { reason: isLate ? "late" : isUnconnected(cause) ? "unconnected" : "broken", cause, ms: ms() };
  }
}

/** As `tryPost`, or throws `no_answer`, with the flag that names the URL. */
export async function post(url: string, request: SignedRequest, flag: string): Promise<Answer> {
  const result = await tryPost(url, request);
  if ("status" in result) return result;
  const { reason, cause } = result;
  const [problem, remedy] = {
    late: [
      `${url} did not answer within 30 s, the sender's timeout.`,
      "Answer sooner: store the event, and process it later.",
    ],
    unconnected: [
      `Nothing answers at ${url}.`,
      `Start a receiver there (esim-webhooks serve), or name another ${flag}.`,
    ],
    broken: [
      `What came from ${url} was no complete HTTP answer.`,
      `Look into the log of what listens there, and of each proxy in front of it, or name another ${flag}.`,
    ],
  }[reason] as [string, string];
  throw programError("no_answer", problem, remedy, { cause });
}

/** The code in the body of an answer: the outcome, or that of a problem. Nothing else of the body is shown. */
export function codeOf({ body }: Pick<Answer, "body">): string | undefined {
  try {
    const { outcome, code = outcome } = JSON.parse(body) as { outcome?: unknown; code?: unknown };
    return typeof code === "string" && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
  } catch {
    return undefined; // not JSON: another receiver than ours
  }
}

/** Whether no byte was sent: the address does not exist, or nothing listens there. */
function isUnconnected(error: unknown): boolean {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  const each: unknown = innermost instanceof AggregateError ? innermost.errors[0] : innermost;
  const { syscall, code, message } = (each ?? {}) as NodeJS.ErrnoException;
  if (message === "bad port") return true; // fetch refuses some ports, such as 1
  return syscall === "connect" || syscall === "getaddrinfo" || code === "UND_ERR_CONNECT_TIMEOUT";
}
