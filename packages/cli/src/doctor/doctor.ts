import { printable } from "@esim-webhooks/core/log-lines";
import { clientOptions, clientVariables, hasCredentials } from "../api/client-options.ts";
import type { CliContext, CliProcess, Output } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { onWarning } from "../program/warnings.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";
import { type Check, check, failed, passed } from "./check.ts";
import { checkDrift } from "./drift-checks.ts";
import type { DoctorFlags } from "./flags.ts";
import {
  checkChange,
  checkConfig,
  checkDataFolder,
  checkFileFolder,
  checkHandlers,
  checkNode,
  checkReceiverOptions,
  checkSecret,
  checkWorker,
} from "./set-up-checks.ts";
import { checkStores } from "./store-checks.ts";

/** Checks everything that receivers and workers need, and what the API says of the endpoint. Says how to fix what is wrong. */
export async function doctor(this: CliContext, flags: DoctorFlags): Promise<void> {
  const warnings: Check[] = [];
  onWarning(this.process, ({ code, message, isOurs }) => {
    if (isOurs)
      warnings.push(failed(code, message)); // e.g. a short retention, the mode of a key file
    else this.output.note(`Warning (${code}): ${message}`);
  });
  const checks = [checkNode(`v${this.process.versions.node}`), ...(await checkSetUp(this, flags))];
  await new Promise(setImmediate); // Node.js emits a warning in a later tick
  const all = [...checks, ...warnings].map(({ message, ...one }) => ({
    ...one,
    message: this.output.mask(message),
  }));
  if (all.some(({ ok }) => !ok)) this.process.exitCode = exitCodes.problem;
  if (flags.json) this.output.json({ ok: all.every(({ ok }) => ok), checks: all });
  else for (const one of all) show(this.output, one);
}

async function checkSetUp(context: CliContext, flags: DoctorFlags): Promise<readonly Check[]> {
  const read: { setUp?: SetUp } = {};
  const config = await check("config", async () => {
    read.setUp = await readSetUp(context, flags);
    return checkConfig(read.setUp);
  });
  const { setUp } = read;
  if (setUp === undefined) return [config];
  const folder = await checkFolder(setUp);
  const change = await checkChange(setUp);
  const stores = await checkStores(setUp, folder, flags.silence);
  return [
    config,
    await check("secret", () => checkSecret(setUp)),
    ...(change ? [change] : []),
    await check("handlers", () => checkHandlers(setUp)),
    ...(setUp.config.receiver ? [await check("receiver", () => checkReceiverOptions(setUp))] : []),
    ...(setUp.config.worker ? [await check("worker", () => checkWorker(setUp))] : []),
    ...(folder ? [folder] : []),
    ...stores,
    ...(stores.some(isStoreDown) ? [] : [await check("drift", () => checkDrift(setUp))]),
    ...(await checkApi(setUp, context.process, flags)),
  ];
}

/** The state of drift is usually in the same database, so its check would repeat the error. */
function isStoreDown({ name, ok }: Check): boolean {
  return name === "store" && !ok;
}

/** Loads the client only with credentials, since loading takes a quarter of the start-up. */
async function checkApi(setUp: SetUp, process: CliProcess, flags: DoctorFlags): Promise<readonly Check[]> {
  if (hasCredentials(clientOptions(setUp, process)))
    return (await import("./api-checks.ts")).checkApi(setUp, process, flags);
  const { baseUrl, clientId, clientSecret } = clientVariables(setUp);
  return [
    passed(
      "api",
      `not looked at: with ${baseUrl}, ${clientId} and ${clientSecret}, the endpoint and its deliveries are checked too`,
    ),
  ];
}

/** Checks the folder of an SQLite file: that of the config's own inbox, else that of embedded data. Undefined if neither is used. */
async function checkFolder({ config, handlers, place }: SetUp): Promise<Check | undefined> {
  const file = config.target?.path;
  if (file !== undefined) return check("folder", () => checkFileFolder(file));
  const isDefault = config.target === undefined && (handlers === undefined || config.store === undefined);
  return isDefault && "dataDir" in place ? check("folder", () => checkDataFolder(place)) : undefined;
}

function show(output: Output, check: Check): void {
  const { name, message } = check;
  output.data(`${mark(output, check)}  ${output.style("bold", name.padEnd(9))} ${printable(message)}`);
}

function mark(output: Output, { ok, warning }: Check): string {
  if (warning) return output.style("yellow", "!   ");
  return ok ? output.style("green", "✔ ok") : output.style("red", "✘   ");
}
