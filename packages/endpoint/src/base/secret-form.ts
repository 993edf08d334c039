import { createKeyring } from "@esim-webhooks/core";

/** How the secret that the service shows stands for the key, if it is not the usual `whsec_` or base64. */
export type SecretForm = "hex" | "base64" | "utf8";

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
