import { type EndpointFinding, type EndpointWish, ensureEndpoint } from "@esim-webhooks/endpoint";
import { shownRecord, shownText } from "../api/shown-record.ts";
import { withApi } from "../api/with-api.ts";
import type { CliContext } from "../program/context.ts";
import { exitCodes } from "../program/exit-code.ts";
import type { Output } from "../program/output.ts";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import type { EnsureFlags } from "./ensure-flags.ts";
import { keyPlaceOf } from "./key-store-of.ts";

/** Finds the endpoint of a URL or registers it, and says what is wrong with it. */
export async function ensure(this: CliContext, flags: EnsureFlags, url: string): Promise<void> {
  const { output, process } = this;
  await withApi(this, flags, async (api, setUp) => {
    const { keyStore, where } = keyPlaceOf(setUp, flags.keyFile);
    const stop = stopSignal(output);
    const wish = { ...wishOf(flags, setUp, url), keyStore, signal: stop.signal };
    const { endpoint, created, findings } = await ensureEndpoint<unknown>(api, wish).finally(stop.release);
    if (findings.length > 0) process.exitCode = exitCodes.problem;
    if (flags.json) {
      output.json({
        ...(shownRecord(endpoint, false) as object),
        active: endpoint.active,
        created,
        findings,
      });
      return;
    }
    const { webhookEndpointReference, eventTypes } = endpoint;
    const named = `the endpoint ${printable(webhookEndpointReference)} for ${counted(eventTypes.length, "event type")}`;
    output.data(
      created
        ? `Registered ${named}. Its signing secret is in ${where}.`
        : `Found ${named} at ${printable(shownText(endpoint.url, false))}.`,
    );
    printFindings(output, findings);
  });
}

/** What the endpoint is to be, by the flags, else by the handlers of the config. Throws `invalid_usage` without either. */
export function wishOf(
  { types, description, secretForm }: EnsureFlags,
  { handlers, catalog, file }: SetUp,
  url: string,
): Omit<EndpointWish<unknown>, "keyStore"> {
  if (types === undefined && handlers === undefined) {
    throw new ProgramError(
      "invalid_usage",
      `${file === undefined ? "There is no config file" : `${file} has no handlers`}, so nobody knows which event types the endpoint is for.`,
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
