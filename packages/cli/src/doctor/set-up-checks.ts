import { type Catalog, createKeyring, createProcessor, esimCatalog } from "@esim-webhooks/core";
import { knownSecrets } from "../set-up/known-secrets.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { type Check, fine, wrong } from "./check.ts";

const oldestNode: readonly [number, number] = [22, 18];

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.replace("v", "").split(".").map(Number);
  const [wantedMajor, wantedMinor] = oldestNode;
  const isNew = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return isNew
    ? fine("node", version)
    : wrong("node", `${version} is too old. Install Node.js 22.18 or newer.`);
}

export function checkConfig({ file }: SetUp): Check {
  return fine("config", file ?? "none: the environment and defaults count");
}

/** Keys by their fingerprints. */
export async function checkSecret({ secret }: SetUp): Promise<Check> {
  const secrets = await knownSecrets(secret);
  const keys = createKeyring(secrets).keysAt(Date.now());
  if (keys.length === 0) return wrong("secret", "No key counts now. Correct their notBefore and notAfter.");
  return fine("secret", keys.map((key) => key.fingerprint).join(", "));
}

/** Their event types, as receivers and workers check them. */
export function checkHandlers({ handlers, catalog = esimCatalog as Catalog<unknown> }: SetUp): Check {
  if (handlers === undefined) return fine("handlers", "none: events are stored, and not worked");
  createProcessor<unknown>(handlers, { catalog });
  return fine("handlers", Object.keys(handlers).join(", "));
}
