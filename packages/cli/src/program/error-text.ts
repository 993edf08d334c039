import { detailsOf, messageOf, printable, tracedError } from "@esim-webhooks/core/log-lines";
import { maskSecrets, maskText, shortened } from "@esim-webhooks/core/masking";
import { errorCodeOf, isFullDisk } from "./exit-code.ts";
import { maskOwnSecrets } from "./own-secrets.ts";
import { programError } from "./program-error.ts";

const debugVariable = "ESIM_WEBHOOKS_DEBUG";

/** An error in full: its message, and that of its innermost cause. */
export function messageWithCause(error: unknown): string {
  const shown = fullDisk(error) ?? error;
  return `${messageOf(shown)}${causeOf(shown)}`;
}

/** An error as text: its code, what is wrong, how to fix it. With a stack only when ESIM_WEBHOOKS_DEBUG is set. Shows no secret. */
export function describeError(error: unknown, env: NodeJS.ProcessEnv): string {
  const code = errorCodeOf(error);
  const text =
    code === undefined
      ? `Error (unexpected): ${maskText(messageOf(error)).replace(/[^.!?]$/, "$&.")} Set ${debugVariable}=1 to see where it comes from.`
      : `Error (${code}): ${maskSecrets(messageWithCause(error))}`;
  const details = env[debugVariable] ? detailsOf(tracedError(error)) : [];
  return maskOwnSecrets([text, ...details].map(printable).join("\n"), env);
}

/** The message of the innermost cause, such as the host that refused or the missing permission. Empty if the error's own message has it. */
function causeOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  if (innermost instanceof AggregateError) innermost = innermost.errors[0];
  if (!(error instanceof Error) || innermost === error) return "";
  const message = messageOf(innermost).replace(/\.$/, "");
  return message === "" || error.message.includes(message) ? "" : ` Cause: ${shortened(message)}.`;
}

/** A full disk or quota as every command reports it; undefined for any other error. `path`: what had no room. */
export function fullDisk(error: unknown, path?: string): Error | undefined {
  if (!isFullDisk(error)) return undefined;
  const what = path ?? (error as NodeJS.ErrnoException).path ?? "a file";
  return programError(
    "store_full",
    `There is no room left for ${what}.`,
    "Free space on its disk, or raise the quota.",
    { cause: error },
  );
}
