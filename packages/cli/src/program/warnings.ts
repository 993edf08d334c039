import { isErrorCode } from "./exit-code.ts";

/** A warning of this project, or of Node.js. */
export interface Warning {
  readonly code: string;
  readonly message: string;
  /** Whether this project gave it. */
  readonly isOurs: boolean;
}

/** Hears the process' warnings from now on, in place of whoever did before. Those that are thrown as well are left out. */
export function hearWarnings(hear: (warning: Warning) => void): void {
  process.removeAllListeners("warning").on("warning", (warning: Error & { code?: string }) => {
    const { name, code = name, message } = warning;
    const isOurs = name === "EsimWebhooksWarning";
    if (!isOurs || !isErrorCode(code)) hear({ code, message, isOurs });
  });
}
