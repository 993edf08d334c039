import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { warnOfSetup } from "../base/safe-logger.ts";
import { createDeadline } from "../base/waiting.ts";

/** Options of `createStoreGuard`. */
export interface StoreGuardOptions {
  /** The function that made the store, for messages. */
  readonly name: string;
  /** How long one operation may take, in ms. */
  readonly timeoutMs: number;
  /** Gets one line for the first mistake in the set-up. */
  readonly logger: Logger;
  /** The part that the store talks to, for messages. Default `"server"`. */
  readonly backend?: "server" | "file";
  /** Checks the server's set-up before the first operation. Rejects with a `WebhookError` for a mistake. */
  check(signal: AbortSignal): Promise<void>;
  /** Returns the error to reject with in place of `store_unavailable`, if the cause is known. */
  explain?(error: unknown): WebhookError<string> | undefined;
}

/** Checks the set-up of a store, limits the time of its operations, and makes them reject only with a `WebhookError`. */
export interface StoreGuard {
  /** Runs the check, within the timeout, at each call. Concurrent calls share one check. */
  ready(): Promise<void>;
  /** Runs one operation with the timeout. If no check has passed yet, runs the check first. `signal` aborts at the timeout. */
  run<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Runs one operation with the timeout, without the check: it may be asked of a store that is not set up yet. */
  runUnready<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Runs an operation without check and timeout, such as migrations. */
  runUnchecked<T>(operation: () => Promise<T>): Promise<T>;
  /** Rejects all further operations, and runs `free` once, after a running check. */
  close(free: () => Promise<void>): Promise<void>;
}

/** The remedies of `store_unavailable` errors. */
const remedies = {
  server: {
    failed: "See the error's cause: the server may be down, or its URL or credentials may be wrong.",
    late: "Check that it is up and not overloaded.",
  },
  file: {
    failed: "See the error's cause.",
    late: "Check that its disk is not overloaded, and that no other process keeps the file locked.",
  },
} as const;

const certificateRemedy =
  "See the error's cause. Pass a private authority's certificate (sslrootcert of a postgres:// URL, tls of a Redis client, or NODE_EXTRA_CA_CERTS), or fix the host name or the certificate.";

/** The codes by which Node.js and OpenSSL refuse the certificate of a server. */
const certificateCode = /CERT|^CRL_|_SIGNATURE$|^INVALID_CA$|^HOSTNAME_MISMATCH$/;

/** Whether an error, or one of its causes, is about the server's certificate. */
function isOfCertificate(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++)
    if (certificateCode.test(String((each as { code?: unknown }).code))) return true;
  return false;
}

/** For authors of stores: creates the guard of a store. */
export function createStoreGuard({
  name,
  timeoutMs,
  logger,
  backend = "server",
  check,
  explain,
}: StoreGuardOptions): StoreGuard {
  const remedy = remedies[backend];
  let checked: Promise<void> | undefined;
  let isReady = false;
  let warned = false;
  let closed: Promise<void> | undefined;

  function ready(): Promise<void> {
    checked ??= inTime(check).then(
      () => {
        checked = undefined;
        isReady = true;
      },
      (error: WebhookError) => {
        checked = undefined;
        if (error.code !== "store_unavailable" && !warned) warnOfSetup(logger, error.code, error.message);
        warned ||= error.code !== "store_unavailable";
        throw error;
      },
    );
    return checked;
  }

  async function runUnchecked<T>(operation: () => Promise<T>): Promise<T> {
    if (closed !== undefined) {
      throw new WebhookError("store_unavailable", `The ${name} was closed.`, "Close it after its last user.");
    }
    try {
      return await operation();
    } catch (error) {
      if (WebhookError.is(error)) throw error;
      const explained = explain?.(error);
      if (explained !== undefined) throw explained;
      const [problem, advice] = isOfCertificate(error)
        ? ["has a certificate that was not accepted", certificateRemedy]
        : ["could not be reached, or refused the operation", remedy.failed];
      throw new WebhookError("store_unavailable", `The ${backend} of the ${name} ${problem}.`, advice, {
        cause: error,
      });
    }
  }

  async function inTime<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = createDeadline(timeoutMs);
    const answer = await deadline.before(runUnchecked(() => operation(deadline.signal)));
    if (!deadline.signal.aborted) return answer as T; // undefined is an answer, too
    throw new WebhookError(
      "store_unavailable",
      `The ${backend} of the ${name} did not answer within ${timeoutMs} ms.`,
      remedy.late,
    );
  }

  return {
    ready,
    run: (operation) => (isReady ? inTime(operation) : ready().then(() => inTime(operation))),
    runUnready: inTime,
    runUnchecked,
    close(free) {
      closed ??= Promise.allSettled([checked]).then(free); // frees what a running check still opens
      return closed;
    },
  };
}
