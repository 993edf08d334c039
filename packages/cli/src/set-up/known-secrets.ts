import { createKeyring, type Key, type LoadedKeys, type Secret, type Secrets } from "@esim-webhooks/core";

/** The current secrets. A key source is loaded once. Undefined when there is no secret. */
export async function knownSecrets(secret: Secret | undefined): Promise<Secrets | undefined> {
  if (typeof secret !== "object" || !("load" in secret)) return secret;
  const loaded = await secret.load();
  return isList(loaded) ? loaded : loaded.keys;
}

/** The secret to sign with: the first that is valid now, else the first. Throws `missing_secret` or `invalid_secret`. */
export function signingSecret(secrets: Secrets | undefined): string {
  createKeyring(secrets);
  const list = typeof secrets === "string" ? secrets.trim().split(/\s+/) : (secrets ?? []);
  const current = list.find((one) => createKeyring([one]).keysAt(Date.now()).length > 0) ?? list[0];
  return typeof current === "object" ? current.secret : (current ?? "");
}

function isList(loaded: readonly (string | Key)[] | LoadedKeys): loaded is readonly (string | Key)[] {
  return Array.isArray(loaded);
}
