import { resolve } from "node:path";
import type { ApiClient } from "@esim-webhooks/client";
import type { FileKeySource } from "@esim-webhooks/core/key-file";
import { printable } from "@esim-webhooks/core/log-lines";
import {
  type EndpointFinding,
  type EndpointWish,
  type EnsuredEndpoint,
  ensureEndpoint,
  isSameUrl,
  listEndpoints,
  type ReplacedEndpoint,
  reconcile,
  replaceEndpoint,
} from "@esim-webhooks/endpoint";
import { withApiToWrite } from "../api/open-client.ts";
import { maskedRecord, maskedText } from "../api/shown-record.ts";
import { commandLogger, stepLogger } from "../log/command-logger.ts";
import type { CliContext, CliProcess, Output } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import { invalidUsage } from "../program/program-error.ts";
import { flagsOf, shellWord } from "../program/shell.ts";
import { interruptedBy, stopSignal } from "../program/stopping.ts";
import { endpointUrl } from "../send/receiver-url.ts";
import { keyPlaceOf, namedFile } from "../set-up/key-place.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import { explainedChange } from "./change-text.ts";
import { explainedFindings } from "./explained-findings.ts";
import type { EnsureFlags } from "./flags.ts";
import { refuseNoFile } from "./key-file.ts";
import { openReconcileTarget } from "./reconcile-target.ts";
import { gapText, withoutReports } from "./reconcile-view.ts";

/** Finds the endpoint of a URL or registers it, and says what is wrong with it. With --replace, replaces it by one that is as wished. */
export async function ensure(this: CliContext, flags: EnsureFlags, url: string): Promise<void> {
  const { output, process } = this;
  const alone = flags.since !== undefined ? "--since" : flags.acceptLoss ? "--accept-loss" : undefined;
  if (alone !== undefined && !flags.replace) {
    throw invalidUsage(
      `${alone} is for --replace: nothing else is reconciled here.`,
      "Remove it, or add --replace.",
    );
  }
  endpointUrl(url);
  await withApiToWrite(this, flags, async (api, setUp) => {
    const { keyStore, where, file } = keyPlaceOf(setUp, namedFile(process, flags.keyFile));
    if (file !== undefined) await refuseNoFile({ file, where });
    await refuseOtherSlash(api, url);
    const stop = stopSignal(this, "the step under way");
    const wish = { ...wishOf(flags, setUp, url), keyStore, signal: stop.signal, logger: stepLogger(output) };
    const run = flags.replace ? replace(api, setUp, wish, flags, output) : ensureEndpoint<unknown>(api, wish);
    const result = await run
      .catch(async (error: unknown) => {
        throw interruptedBy(stop.signal, await explainedChange(error, keyStore));
      })
      .finally(stop.release);
    const { endpoint } = result;
    const stored = await keyStore.read().catch(() => undefined); // only for the findings: an error is no failure
    const { change } = stored?.record ?? {};
    const now = explainedFindings(result.findings, { url, ...commandsOf(flags, url), change });
    const findings = [...now, ...gapFindings(result)];
    if (findings.length > 0) process.exitCode = exitCodes.problem;
    if (flags.json) {
      const shown = maskedRecord(endpoint) as object;
      output.json({ ...shown, ...result, findings, endpoint: undefined, active: endpoint.active });
      return;
    }
    output.data(sentenceOf(result, where));
    if (flags.keyFile !== undefined && isNew(result) && !isReadFrom(process, setUp, file)) {
      output.data(
        `So that receivers read it, give the config secret: fileKeySource(${JSON.stringify(flags.keyFile)}), of @esim-webhooks/core/key-file.`,
      );
    }
    printFindings(output, findings);
  });
}

/** A finding for each time in which the service may have sent the replaced endpoint nothing: no later pass reports these times. */
function gapFindings(result: EnsuredEndpoint | ReplacedEndpoint): readonly EndpointFinding[] {
  if (!("replaced" in result) || result.replaced === null) return [];
  const about = [result.replaced];
  return (result.reconciled?.gaps ?? []).map((gap) => ({
    code: "inactive",
    about,
    problem: `The service may not have sent events to ${about}, ${gapText(gap)}.`,
    remedy: "Ask support for a replay of that time: esim-webhooks replay-request prints the text.",
  }));
}

function sentenceOf(result: EnsuredEndpoint | ReplacedEndpoint, where: string): string {
  const { webhookEndpointReference, eventTypes, url } = result.endpoint;
  const named = `the endpoint ${printable(webhookEndpointReference)} for ${counted(eventTypes.length, "event type")}`;
  if ("created" in result && result.created) return `Registered ${named}. Its signing secret is in ${where}.`;
  if ("replaced" in result && result.replaced !== null) {
    const became = result.reconciled === null ? "is deleted" : "was reconciled and deleted";
    return `Replaced the endpoint ${printable(result.replaced)}, which ${became}, by ${named}. Its signing secret is in ${where}.`;
  }
  return `Found ${named} at ${printable(maskedText(url))}.`;
}

function isNew(result: EnsuredEndpoint | ReplacedEndpoint): boolean {
  return "created" in result ? result.created : result.replaced !== null;
}

/** Whether the config has this key file as its secret. */
function isReadFrom({ cwd }: CliProcess, { secret }: SetUp, file: string | undefined): boolean {
  const { keyFile: configured } = (secret ?? {}) as Partial<FileKeySource>;
  return configured !== undefined && resolve(cwd(), configured) === file;
}

/** The commands that fix what is wrong with the endpoint, with the flags that this command was given. */
function commandsOf(
  { types, description, keyFile, secretForm, config, dataDir }: EnsureFlags,
  url: string,
): { readonly replace: string; readonly rotate: string } {
  const shared = flagsOf({ keyFile, secretForm, config, dataDir });
  const own = flagsOf({ types: types?.join(","), description });
  return {
    replace: `esim-webhooks endpoint ensure ${shellWord(url)}${own}${shared} --replace`,
    rotate: `esim-webhooks rotate${shared}`,
  };
}

/** The endpoint as it is wanted: its event types are those of --types, else those of the handlers. Throws `invalid_usage` without either. */
export function wishOf(
  { types, description, secretForm }: EnsureFlags,
  { handlers, catalog, file }: SetUp,
  url: string,
): Omit<EndpointWish<unknown>, "keyStore"> {
  if (types === undefined && handlers === undefined) {
    throw invalidUsage(
      `${file === undefined ? "There is no config file" : `${file} has no handlers`}, so the event types of the endpoint are not known.`,
      "Name them with --types, or export the handlers from the config. esim-webhooks api event-types lists them.",
    );
  }
  return {
    url,
    ...(types === undefined ? { handlers } : { eventTypes: types }),
    description,
    secretForm,
    ...(catalog && { catalog }),
  };
}

export function printFindings(output: Output, findings: readonly EndpointFinding[]): void {
  for (const { code, problem, remedy } of findings) {
    output.data(
      `${output.style("red", "✘")}  ${output.style("bold", code)}: ${printable(`${problem} ${remedy}`)}`,
    );
  }
}

/** Replaces the endpoint of a URL. Recovers missed events of the replaced endpoint into the target of the set-up. */
export async function replace(
  api: ApiClient,
  setUp: SetUp,
  wish: EndpointWish<unknown>,
  { since, acceptLoss }: EnsureFlags,
  output: Output,
): Promise<ReplacedEndpoint> {
  const { target, options, close } = await openReconcileTarget(setUp);
  const logger = commandLogger({ write: output.note, json: false, style: output.styleNote });
  output.note("While there are two endpoints, one event may come under two ids, and is handled twice then.");
  try {
    return await replaceEndpoint<unknown>(api, {
      ...wish,
      acceptLoss,
      reconcile: ({ endpoint, ...pass }) =>
        reconcile<unknown>(api, endpoint, target, {
          ...options,
          since,
          ...pass,
          logger: withoutReports(logger),
        }),
    });
  } finally {
    await close();
  }
}

/** Refuses a URL with a slash too many or too few, which would register a second endpoint for a receiver that has one. Throws `invalid_usage`. */
export async function refuseOtherSlash(api: ApiClient, url: string): Promise<void> {
  const all = await listEndpoints(api);
  const other = all.find((endpoint) => differsInSlash(endpoint.url, url));
  if (other === undefined || all.some((endpoint) => isSameUrl(endpoint.url, url))) return;
  throw invalidUsage(
    `The client has no endpoint for ${printable(url)}, but ${printable(other.webhookEndpointReference)} for ${printable(maskedText(other.url))}: only the slash at the end differs.`,
    "Write the URL of that endpoint. If you want two, register the second one with esim-webhooks api endpoints create.",
  );
}

/** Whether two URLs are the same except for a slash at the end of their paths: to a service they are two, to most receivers one. */
export function differsInSlash(one: string, other: string): boolean {
  return !isSameUrl(one, other) && withoutSlash(one) === withoutSlash(other);
}

function withoutSlash(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url.href;
}
