import { maskSecrets } from "@esim-webhooks/core/masking";
import type { CliProcess } from "./context.ts";
import { isErrorCode } from "./exit-code.ts";

/** A process warning, from this project or from Node.js. */
export interface Warning {
  readonly code: string;
  readonly message: string;
  /** Whether it is from this project. */
  readonly isOurs: boolean;
}

/**
 * Replaces the listeners for process warnings. Ignores our warnings with an error code, which are thrown as well, and those of
 * Node.js about its experimental features, such as SQLite in Node.js 22: the user has not chosen them.
 */
export function onWarning(process: CliProcess, listener: (warning: Warning) => void): void {
  process.removeAllListeners("warning").on("warning", (warning: Error & { code?: string }) => {
    const { name, code = name, message } = warning;
    if (name === "ExperimentalWarning") return;
    const isOurs = name === "EsimWebhooksWarning";
    if (!isOurs || !isErrorCode(code)) listener({ code, message: maskSecrets(message), isOurs });
  });
}
