import { type Catalog, createKeyring, createProcessor, esimCatalog } from "@esim-webhooks/core";
import { knownSecrets } from "../set-up/known-secrets.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { type Check, failed, passed } from "./check.ts";

const oldestNode: readonly [number, number] = [22, 18];

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.replace("v", "").split(".").map(Number);
  const [wantedMajor, wantedMinor] = oldestNode;
  const isNew = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return isNew
    ? passed("node", version)
    : failed("node", `${version} is too old. Install Node.js 22.18 or newer.`);
}

export function checkConfig({ file }: SetUp): Check {
  return passed("config", file ?? "none: using the environment and defaults");
}

/** Shows keys by their fingerprints. */
export async function checkSecret({ secret }: SetUp): Promise<Check> {
  const secrets = await knownSecrets(secret);
  const keys = createKeyring(secrets).keysAt(Date.now());
  if (keys.length === 0)
    return failed("secret", "No key is valid now. Correct notBefore and notAfter of the keys.");
  return passed("secret", keys.map((key) => key.fingerprint).join(", "));
}

/** Checks the event types of the handlers in the way that receivers and workers do. */
export function checkHandlers({ handlers, catalog = esimCatalog as Catalog<unknown> }: SetUp): Check {
  if (handlers === undefined) return passed("handlers", "none: events are stored, but not processed");
  createProcessor<unknown>(handlers, { catalog });
  return passed("handlers", Object.keys(handlers).join(", "));
}
