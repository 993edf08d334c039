import type { SignedRequest } from "@esim-webhooks/core/testing";
import { ProgramError } from "../program/program-error.ts";

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly ms: number;
}

/** The sender gives up on an answer after this time. */
const timeoutMs = 30_000;
const shownCharacters = 4096;

/** Sends the request as the sender does: without following redirects. Throws `no_answer`. */
export async function post(url: string, request: SignedRequest): Promise<Answer> {
  const startedAt = performance.now();
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { ...request, redirect: "manual", signal });
    const body = (await response.text()).slice(0, shownCharacters);
    return { status: response.status, body, ms: Math.round(performance.now() - startedAt) };
  } catch (cause) {
    const isLate = (cause as Error).name === "TimeoutError";
    throw new ProgramError(
      "no_answer",
      isLate ? `${url} did not answer within 30 s, the sender's timeout.` : `Nothing answers at ${url}.`,
      isLate
        ? "Answer sooner: store the event, and process it later."
        : "Start a receiver there (esim-webhooks serve), or name another --url.",
      { cause },
    );
  }
}
