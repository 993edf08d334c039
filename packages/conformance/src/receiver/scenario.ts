import assert from "node:assert/strict";
import type { EsimEvents, Handlers, Logger, OutcomeCode, WebhookEvent } from "@esim-webhooks/core";
import {
  newSecret,
  type SignedRequest,
  type SignedRequestOptions,
  sampleData,
  signedRequest,
} from "@esim-webhooks/core/testing";
import type { WithServer } from "./server.ts";
import type { Answer } from "./wire.ts";

/** A sentence about a receiver, which names the test, and the test itself. */
export type Scenario = readonly [sentence: string, run: (withServer: WithServer) => Promise<void>];

/** The test of each outcome. */
export type ScenarioByOutcome = Readonly<Record<OutcomeCode, Scenario>>;

export const secret: string = newSecret();

/** A signed `esim.faulted`. Its id is new unless one is passed. */
export function faulted(options: Partial<SignedRequestOptions> & { id?: string } = {}): SignedRequest {
  const { id, ...rest } = options;
  return signedRequest(
    { ...(id !== undefined && { id }), type: "esim.faulted", data: sampleData("esim.faulted") },
    { secret, ...rest },
  );
}

/** Handlers that record their events. */
export function recording(): { handlers: Handlers<EsimEvents>; events: WebhookEvent[] } {
  const events: WebhookEvent[] = [];
  return { handlers: { "*": (event) => void events.push(event) }, events };
}

/** Handlers for a test in which none may run. */
export const noHandler: { readonly "*": () => never } = { "*": () => assert.fail("a handler ran") };

/** Handlers that run until `finish()` is called. `started` resolves when one begins. */
export function blocking(): { handlers: Handlers<EsimEvents>; started: Promise<void>; finish: () => void } {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const handler = async () => {
    started.resolve();
    await finish.promise;
  };
  return { handlers: { "*": handler }, started: started.promise, finish: () => finish.resolve() };
}

/** A logger that records its lines with their levels. */
export function recordingLogger(): { logger: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const at = (level: string) => (fields: object) => void lines.push({ level, ...fields });
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

/** Checks the status and the code, and that the body contains nothing else than the contract says. */
export function assertAnswer(answer: Answer, status: number, code: string): void {
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  assert.deepEqual({ status: answer.status, code: body["outcome"] ?? body["code"] }, { status, code });
  if (status < 300) {
    assert.deepEqual(body, { outcome: code });
    assert.match(String(answer.headers["content-type"]), /^application\/json/);
  } else {
    assert.deepEqual(Object.keys(body).sort(), ["code", "status", "title", "type"]);
    assert.match(String(answer.headers["content-type"]), /^application\/problem\+json/);
  }
  const retryAfter = answer.headers["retry-after"];
  if (status === 503) assert.match(String(retryAfter), /^[1-9]\d*$/);
  else assert.equal(retryAfter, undefined);
}
