import { type Catalog, createKeyring, createProcessor, createWorker, esimCatalog } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { checkReceiver } from "../serve/receiver-of.ts";
import { knownSecrets, requiredSecret } from "../set-up/known-secrets.ts";
import { naming } from "../set-up/naming.ts";
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
export async function checkSecret(setUp: SetUp): Promise<Check> {
  const keys = await currentKeys(setUp);
  if (keys.length === 0)
    return failed("secret", "No key is valid now. Correct notBefore and notAfter of the keys.");
  return passed("secret", keys.join(", "));
}

/** The fingerprints of the keys that are valid now. Throws `missing_secret` or `invalid_secret`. */
export async function currentKeys(setUp: SetUp): Promise<readonly string[]> {
  const secrets = await knownSecrets(requiredSecret(setUp));
  return createKeyring(secrets)
    .keysAt(Date.now())
    .map((key) => key.fingerprint);
}

/** Checks the options of the receiver in the way that `serve` does. */
export function checkReceiverOptions(setUp: SetUp): Check {
  checkReceiver(setUp);
  return passed("receiver", Object.keys(setUp.config.receiver ?? {}).join(", ") || "defaults");
}

/** Checks the options of the worker in the way that `work` does. */
export function checkWorker({ config, handlers = { "*": () => {} }, file, catalog }: SetUp): Check {
  const { worker = {} } = config;
  const options = { ...worker, ...(catalog && { catalog }) };
  const { target } = config;
  naming(file, () =>
    target?.createWorker
      ? target.createWorker(handlers, options)
      : createWorker<unknown>(memoryInbox(), handlers, options),
  );
  return passed("worker", Object.keys(worker).join(", ") || "defaults");
}

/** Checks the event types of the handlers in the way that receivers and workers do. */
export function checkHandlers({ handlers, file, catalog = esimCatalog as Catalog<unknown> }: SetUp): Check {
  if (handlers === undefined) return passed("handlers", "none: events are stored, but not processed");
  naming(file, () => createProcessor<unknown>(handlers, { catalog }));
  return passed("handlers", Object.keys(handlers).join(", "));
}
