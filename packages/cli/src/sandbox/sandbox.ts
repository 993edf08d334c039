import { once } from "node:events";
import { WebhookError } from "@esim-webhooks/core";
import { type Sandbox, type SandboxOptions, startSandbox } from "@esim-webhooks/sandbox";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";
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
    throw explained(error, options, typedCommand("sandbox", env));
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

/** A port that is taken or not allowed, with the command that chooses another one. */
function explained(error: unknown, { port }: SandboxOptions, command: string): unknown {
  if (!WebhookError.is(error) || error.code !== "cannot_listen") return error;
  const { code, port: refused } = error.cause as { readonly code?: string; readonly port?: number };
  const choose = code === "EADDRINUSE" ? "Stop that one, or choose another port" : "Choose another port";
  return new ProgramError(
    "cannot_listen",
    error.message.replace(/ Choose another .*/, ""),
    `${choose}: ${command} ${refused === port ? "--port" : "--control-port"} 0 takes any free one.`,
    { cause: error.cause },
  );
}

function firstLine({ url, controlUrl, credentials }: Sandbox): object {
  return { url, controlUrl, ...credentials };
}
