import type { Awaitable } from "../base/awaitable.ts";
import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { safeLogger } from "../base/safe-logger.ts";
import { type TextHandler, textHandler } from "../base/text-handler.ts";

/** A fault that a check has found. */
export interface HealthFault {
  /** Stable, for programs. */
  readonly code: string;
  /** The fault: a sentence. */
  readonly problem: string;
  /** How to fix it: a sentence. */
  readonly remedy: string;
}

/** The result of one check. Without a fault, it has passed. */
export interface HealthCheck extends Partial<HealthFault> {
  /** `event_loop` or `worker`; `process`, `inbox`, `store`, and `receiver`, or `receiver_1` and so on for several. */
  readonly name: string;
  /** False: `code`, `problem` and `remedy` say why. */
  readonly ok: boolean;
}

/** The result of a probe. */
export interface Health {
  /** Whether all checks have passed. */
  readonly ok: boolean;
  /** The results of all checks of the probe. */
  readonly checks: readonly HealthCheck[];
}

/**
 * Answers a probe: 200, or 503 if a check has failed. The body is JSON with the names of the checks and the codes of their faults, and
 * has nothing else: `{"ok":false,"checks":[{"name":"inbox","ok":false,"code":"store_unavailable"}]}`.
 */
export interface HealthHandler extends TextHandler {
  /** Resolves to the same result as data, with the problem and the remedy of each fault. Never rejects. */
  check(): Promise<Health>;
}

/** Returns the fault that it has found, or throws it as a `WebhookError`. */
export type Check = () => Awaitable<HealthFault | undefined>;

/** Makes the handler of a probe. It logs when a check begins to fail, when it fails with another code, and when it passes again. */
export function healthHandler(
  probe: "liveness" | "readiness",
  checks: readonly (readonly [name: string, check: Check])[],
  logger: Logger,
): HealthHandler {
  const log = safeLogger(logger);
  const faults = new Map<string, string>();

  async function run(name: string, check: Check): Promise<HealthCheck> {
    let cause: unknown;
    let fault: HealthFault | undefined;
    try {
      fault = await check();
    } catch (error) {
      cause = error;
      fault = WebhookError.is(error) ? error : unexplained;
    }
    note(name, fault, cause);
    if (fault === undefined) return { name, ok: true };
    const { code, problem, remedy } = fault;
    return { name, ok: false, code, problem, remedy };
  }

  function note(name: string, fault: HealthFault | undefined, err: unknown): void {
    const known = faults.get(name);
    if (known === fault?.code) return;
    if (fault === undefined) {
      faults.delete(name);
      log.info({ probe, check: name, code: known }, "A health check passes again.");
      return;
    }
    const { code, problem, remedy } = fault;
    faults.set(name, code);
    if (code === "shutting_down") return; // a process may stop
    log.warn({ probe, check: name, code, ...(err !== undefined && { err }) }, `${problem} ${remedy}`);
  }

  async function check(): Promise<Health> {
    const results = await Promise.all(checks.map((named) => run(...named)));
    return { ok: results.every(({ ok }) => ok), checks: results };
  }

  async function answer() {
    const { ok, checks } = await check();
    const shown = checks.map(({ name, ok, code }) => ({ name, ok, ...(code !== undefined && { code }) }));
    return { status: ok ? 200 : 503, text: `${JSON.stringify({ ok, checks: shown })}\n` };
  }

  return Object.assign(textHandler("application/json", answer), { check });
}

const unexplained: HealthFault = {
  code: "check_failed",
  problem: "A health check threw an error that is not a WebhookError.",
  remedy: "Pass a logger to see the error.",
};
