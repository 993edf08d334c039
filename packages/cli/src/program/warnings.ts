import { maskSecrets } from "../masking/mask-secrets.ts";
import { isErrorCode } from "./exit-code.ts";

/** A process warning, from this project or from Node.js. */
export interface Warning {
  readonly code: string;
  readonly message: string;
  /** Whether it is from this project. */
  readonly isOurs: boolean;
}

/** Replaces the listeners for process warnings. Ignores our warnings with an error code, which are thrown as well. */
export function onWarning(listener: (warning: Warning) => void): void {
  process.removeAllListeners("warning").on("warning", (warning: Error & { code?: string }) => {
    const { name, code = name, message } = warning;
    const isOurs = name === "EsimWebhooksWarning";
    // a store only warns of it, and what needs a durable one throws an error of the same code
    const isThrown = isErrorCode(code) && code !== "not_durable";
    if (!isOurs || !isThrown) listener({ code, message: maskSecrets(message), isOurs });
  });
}
