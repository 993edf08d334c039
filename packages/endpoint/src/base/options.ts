import type { ApiClient } from "@esim-webhooks/client";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import { withMethods } from "@esim-webhooks/core/engine";
import { loggerOption, silentLogger } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { type WaitingClock, wallClock } from "./waiting-clock.ts";

/** The form in which the service shows a secret, if that is not the usual one: base64 of 24 to 64 bytes, with or without `whsec_`. */
export type SecretForm = "hex" | "base64" | "utf8";

export const secretForms: readonly SecretForm[] = ["hex", "base64", "utf8"];

/** The options that all changes of the keys have in common. */
export interface ChangeOptions {
  /**
   * The form of the API's secrets, if that is not the usual one: the new key is stored in this form. Default: the form of the newest
   * key in the store, else the usual one.
   */
  readonly secretForm?: SecretForm | undefined;
  /** Aborts the run; the next run continues. */
  readonly signal?: AbortSignal | undefined;
  /** Gets a line for each step, and a warning while a new secret cannot be stored: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  readonly logger?: Logger | undefined;
  /** Returns the time and waits, for tests. Default: the machine's time and timers. */
  readonly clock?: WaitingClock | undefined;
}

export const changeShape: {
  readonly secretForm: z.ZodMiniType<SecretForm | undefined>;
  readonly signal: z.ZodMiniType<AbortSignal>;
  readonly logger: z.ZodMiniType<Logger>;
  readonly clock: z.ZodMiniType<WaitingClock>;
} = {
  secretForm: z.optional(z.enum(secretForms)),
  signal: z._default(
    z.instanceof(AbortSignal, { error: "expected an AbortSignal" }),
    () => new AbortController().signal,
  ),
  logger: z._default(loggerOption, silentLogger),
  clock: z._default(withMethods<WaitingClock>("now", "wait"), wallClock),
};

/** Throws `invalid_option` if the first argument plainly is not a client with these operations. */
export function checkClient(caller: string, api: unknown, ...operations: (keyof ApiClient)[]): void {
  const client = (api ?? {}) as Partial<ApiClient>;
  if (operations.every((name) => typeof client[name] === "object")) return;
  throw new WebhookError(
    "invalid_option",
    "the first argument is not a client.",
    "Pass what createClient returns.",
    { where: caller },
  );
}
