import { createKeyring, WebhookError } from "@esim-webhooks/core";

/** How the secret that the service shows stands for the key, if it is not the usual `whsec_` or base64. */
export type SecretForm = "hex" | "base64" | "utf8";

/** The secret as receivers take it. Throws `invalid_secret` if they would not; quotes nothing of it. */
export function secretText(signingSecret: string, form: SecretForm | undefined): string {
  const text = form === undefined ? signingSecret : `${form}:${signingSecret}`;
  try {
    createKeyring([text]);
    return text;
  } catch {
    throw new WebhookError(
      "invalid_secret",
      "The endpoint is registered, but its secret cannot be read in the expected form.",
      "Run it again with secretForm (--secret-form): hex, base64 or utf8. It continues with the same endpoint.",
    );
  }
}
