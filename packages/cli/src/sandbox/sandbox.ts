import { once } from "node:events";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import type { CliContext } from "../program/context.ts";
import { stopSignal } from "../program/stopping.ts";
import type { SandboxFlags } from "./flags.ts";
import { welcome } from "./welcome.ts";

/** Runs the partner service until it is stopped by a signal. */
export async function sandbox(this: CliContext, { json, ...flags }: SandboxFlags): Promise<void> {
  const { output } = this;
  const started = await startSandbox(optionsOf(flags));
  const stop = stopSignal(output);
  if (json) output.json(firstLine(started));
  else output.data(welcome(started, flags, output));
  await once(stop.signal, "abort");
  await started.close();
  stop.release();
}

function optionsOf({
  port = 4010,
  controlPort,
  set = [],
  ...flags
}: Omit<SandboxFlags, "json">): SandboxOptions {
  const switches = Object.fromEntries(set) as SandboxOptions["switches"] & object;
  return { ...flags, port, controlPort: controlPort ?? (port === 0 ? 0 : port + 1), switches };
}

function firstLine({ url, controlUrl, credentials }: Sandbox): object {
  return { url, controlUrl, ...credentials };
}
