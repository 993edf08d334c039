import { createKeyring } from "@esim-webhooks/core";
import * as z from "zod/mini";

/** How the secret that the service shows stands for the key, if it is not the usual `whsec_` or base64. */
export type SecretForm = "hex" | "base64" | "utf8";

export interface SecretFormOption {
  /**
   * How the API writes secrets, if not as `whsec_` and base64: the form in which the new key is stored. Default: the form before the
   * newest key of the store, else the usual one.
   */
  readonly secretForm?: SecretForm | undefined;
}

export const secretForms: readonly SecretForm[] = ["hex", "base64", "utf8"];

export const secretFormOption: z.ZodMiniType<SecretForm | undefined> = z.optional(z.enum(secretForms));

/** The secret as receivers take it; undefined if they could not read it. */
export function secretText(signingSecret: string, form: SecretForm | undefined): string | undefined {
  const text = form === undefined ? signingSecret : `${form}:${signingSecret}`;
  try {
    createKeyring([text]);
    return text;
  } catch {
    return undefined; // the error may describe the secret
  }
}
