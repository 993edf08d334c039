import { once } from "node:events";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import type { CliContext } from "../program/context.ts";
import { explained } from "../program/explained.ts";
import { stopSignal } from "../program/stopping.ts";
import { typedCommand } from "../program/typed-command.ts";
import { openModeOf } from "../set-up/folder-mode.ts";
import { attemptLine } from "./attempt-view.ts";
import type { SandboxFlags } from "./flags.ts";
import { welcome } from "./welcome.ts";

/** Runs the partner service until it is stopped by a signal. */
export async function sandbox(this: CliContext, { json, ...flags }: SandboxFlags): Promise<void> {
  const { output } = this;
  const { env } = this.process;
  const options = optionsOf(flags);
  const started = await startSandbox({
    ...options,
    ...(!json && { onAttempt: (attempt) => output.data(attemptLine(attempt, output)) }),
  }).catch((error: unknown) => {
    throw explained(error, { typed: typedCommand("sandbox", env) });
  });
  const stop = stopSignal(output);
  if (json) output.json(firstLine(started));
  else output.data(welcome(started, flags, output, env));
  const openMode = flags.data === undefined ? undefined : await openModeOf(flags.data, "secrets");
  if (openMode !== undefined) output.note(openMode);
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
