import { WebhookError } from "@esim-webhooks/core";
import { type OptionsShape, parseOptions } from "@esim-webhooks/core/engine";
import { type SettingsOf, suggest } from "@esim-webhooks/core/internal";
import * as z from "zod";
import type { SandboxErrorCode } from "./base/refused.ts";
import { type Switches, type SwitchSettings, switchesSchema } from "./base/switches.ts";
import type { DeliveryAttempt } from "./sender/sender.ts";

/** The options of `startSandbox`. Each has a default. */
export interface SandboxOptions {
  /** The port of the API, on 127.0.0.1. Default 0: any free port. */
  readonly port?: number;
  /** The port of the control side, on 127.0.0.1. Default 0: any free port. */
  readonly controlPort?: number;
  /** How many times as fast as real time the service's clock goes. Default 1. Not with `clock: "manual"`. */
  readonly speed?: number;
  /** `"manual"`: the service's clock stands still, and only `advance` moves it. */
  readonly clock?: "manual";
  /** The folder that keeps the state; it survives restarts. Default: the state is kept in memory. */
  readonly data?: string;
  /** The seed of faults with a `probability`, and of new phone numbers. References and ids do not depend on it. Default: another seed each time. */
  readonly seed?: number;
  /** How the service behaves where its specification says two things, or nothing. With a manual clock, `rateLimit` is `off` by default. */
  readonly switches?: SwitchSettings;
  /** Called after each attempt to deliver an event, with the answer, or the error if there was none. */
  readonly onAttempt?: (attempt: DeliveryAttempt) => void;
}

export type SandboxSettings = Omit<
  SettingsOf<SandboxOptions, "speed" | "clock" | "data" | "onAttempt">,
  "switches"
> & {
  readonly switches: Switches;
};

const port = z.int().min(0).max(65_535).default(0);
const shape: OptionsShape<Omit<SandboxSettings, "switches"> & { switches: Record<string, unknown> }> = {
  port,
  controlPort: port,
  speed: z.number().positive().max(1_000_000).optional(),
  clock: z.literal("manual").optional(),
  data: z.string().min(1).optional(),
  seed: z
    .int()
    .min(0)
    .default(() => Math.floor(Math.random() * 2 ** 32)),
  switches: z.looseObject({}).default({}),
  onAttempt: z
    .custom<Required<SandboxOptions>["onAttempt"]>(
      (given) => typeof given === "function",
      "expected a function",
    )
    .optional(),
};

/** Checks the options. Throws `invalid_option`, which names the option or the switch. */
export function readOptions(options: SandboxOptions): SandboxSettings {
  const { switches, ...settings } = parseOptions("startSandbox", shape, options);
  if (settings.clock !== undefined && settings.speed !== undefined)
    throw mistake("A manual clock has no speed.", "Leave out the clock or the speed.");
  if (settings.port !== 0 && settings.port === settings.controlPort)
    throw mistake(
      `The API and the control side cannot both listen on port ${settings.port}.`,
      "Give each a port of its own.",
    );
  // on a clock that stands still a limit never refills by itself
  const rateLimit = switches["rateLimit"] ?? (settings.clock === "manual" ? "off" : undefined);
  return { ...settings, switches: readSwitches({ ...switches, rateLimit }) };
}

function readSwitches(given: Readonly<Record<string, unknown>>): Switches {
  const read = switchesSchema.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const [name = ""] = issue.keys;
    throw mistake(`There is no switch "${name}".`, suggest(name, Object.keys(switchesSchema.shape)));
  }
  const name = String(issue?.path[0]);
  throw mistake(`The switch "${name}" cannot be ${JSON.stringify(given[name])}.`, `${issue?.message}.`);
}

function mistake(problem: string, remedy: string): WebhookError<SandboxErrorCode> {
  return new WebhookError<SandboxErrorCode>("invalid_option", problem, remedy);
}
