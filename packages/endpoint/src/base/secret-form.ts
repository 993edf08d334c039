/** How the secret that the service shows stands for the key, if it is not the usual `whsec_` or base64. */
export type SecretForm = "hex" | "base64" | "utf8";

/** The secret as receivers take it. */
export function secretText(signingSecret: string, form: SecretForm | undefined): string {
  return form === undefined ? signingSecret : `${form}:${signingSecret}`;
}
