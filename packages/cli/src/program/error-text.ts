import { maskText } from "../masking/mask-text.ts";
import { errorCodeOf } from "./exit-code.ts";
import { printable } from "./printable.ts";

const debugVariable = "ESIM_WEBHOOKS_DEBUG";

/** An error as text: its code, what is wrong, how to mend it. With a stack only when ESIM_WEBHOOKS_DEBUG is set. */
export function describeError(error: unknown): string {
  const code = errorCodeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const text = printable(
    code === undefined
      ? `Error (unexpected): ${maskText(message).replace(/[^.!?]$/, "$&.")} Set ${debugVariable}=1 to see where it comes from.`
      : `Error (${code}): ${message}${causeOf(error)}`,
  );
  if (!process.env[debugVariable]) return text;
  return `${text}\n${process.getBuiltinModule("node:util").inspect(error)}`;
}

/** The message of the innermost cause, such as the host that refused or the missing permission. Empty without a cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  let { cause } = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  if (!(cause instanceof Error)) return "";
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const message = (first instanceof Error ? first.message : String(first)).replace(/\.$/, "");
  const isKnown = message === "" || error.message.includes(message);
  return isKnown ? "" : ` Cause: ${message}.`;
}
