import { WebhookError } from "@esim-webhooks/core";
import { type OptionsShape, parseOptions, type SettingsOf } from "@esim-webhooks/core/kit";
import * as z from "zod";
import { type Switches, type SwitchSettings, switchesSchema } from "./base/switches.ts";
import type { SandboxErrorCode } from "./errors.ts";

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
  /** Makes what is random happen again in the same way. Default: another one each time. */
  readonly seed?: number;
  /** How the service answers where its specification says two things, or nothing. */
  readonly switches?: SwitchSettings;
}

export type SandboxSettings = Omit<SettingsOf<SandboxOptions, "speed" | "clock" | "data">, "switches"> & {
  readonly switches: Switches;
};

const port = z.int().min(0).max(65_535).default(0);
const shape: OptionsShape<Omit<SandboxSettings, "switches"> & { switches: SwitchSettings }> = {
  port,
  controlPort: port,
  speed: z.number().positive().max(1_000_000).optional(),
  clock: z.literal("manual").optional(),
  data: z.string().min(1).optional(),
  seed: z
    .int()
    .min(0)
    .default(() => Math.floor(Math.random() * 2 ** 32)),
  switches: z.custom<SwitchSettings>().default({}),
};

/** Throws `invalid_option`, which names the option or the switch. */
export function readOptions(options: SandboxOptions): SandboxSettings {
  const settings = parseOptions<Omit<SandboxSettings, "switches"> & { switches: SwitchSettings }>(
    "startSandbox",
    shape,
    options,
  );
  if (settings.clock !== undefined && settings.speed !== undefined)
    throw new WebhookError<SandboxErrorCode>(
      "invalid_option",
      "startSandbox: a manual clock has no speed.",
      'Leave out "speed", or "clock".',
    );
  const switches = parseOptions<Switches>("startSandbox, switches", switchesSchema.shape, settings.switches);
  return { ...settings, switches };
}
