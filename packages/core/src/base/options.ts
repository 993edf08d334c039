import { closestMatch } from "leven";
import { en } from "zod/locales";
import * as z from "zod/mini";
import { WebhookError } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** `Did you mean "…"?` when one of the names is near, else the names that there are. */
export function suggest(name: string, names: readonly string[]): string {
  const near = closestMatch(name, names, { maxDistance: Math.max(3, Math.floor(name.length / 3)) });
  return near === undefined ? `There are: ${names.join(", ")}.` : `Did you mean "${near}"?`;
}

// zod/mini has no messages of its own; `zod` has them in fifty languages, and all of them would be in every bundle
const inEnglish = en().localeError;

/** `Options` as they are once read: each one is there, but for those that have no default (`WithoutDefault`). */
export type SettingsOf<Options, WithoutDefault extends keyof Options = never> = {
  [Name in keyof Options as Exclude<Name, WithoutDefault>]-?: Exclude<Options[Name], undefined>;
} & { [Name in WithoutDefault]: Options[Name] | undefined };

/** How each option is read into a setting. */
export type OptionsShape<Settings> = { readonly [Name in keyof Settings]-?: z.core.$ZodType<Settings[Name]> };

/** Reads the options of `caller` once, at the door. Throws `invalid_option` with every issue named. */
export function parseOptions<Settings>(
  caller: string,
  shape: OptionsShape<Settings>,
  options: unknown,
): Settings {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new WebhookError(
      "invalid_option",
      `${caller}: the options are not an object.`,
      `Pass them by name: ${examplesOf(Object.keys(shape), options)}.`,
    );
  }
  const result = z.strictObject(shape).safeParse(options, { error: inEnglish });
  if (result.success) return result.data as Settings;
  const problems = result.error.issues.map((issue) =>
    issue.code === "unrecognized_keys"
      ? `there is no option ${issue.keys.map((key) => `"${key}"`).join(", ")}`
      : `"${issue.path.join(".")}": ${issue.message}`,
  );
  const unknownKeys = result.error.issues.flatMap((i) => (i.code === "unrecognized_keys" ? i.keys : []));
  const remedies = unknownKeys.map((key) => suggest(key, Object.keys(shape)));
  throw new WebhookError(
    "invalid_option",
    `${caller}: ${problems.join("; ")}.`,
    remedies.length > 0 ? remedies.join(" ") : "Correct the options; their docstrings give units and ranges.",
  );
}

/** A URL says by itself which option it is. */
function examplesOf(names: readonly string[], given: unknown): string {
  if (typeof given === "string" && names.includes("url")) return "{ url }";
  return names.length > 3 ? `{ ${names.slice(0, 3).join(", ")}, … }` : `{ ${names.join(", ")} }`;
}

const wholeMs = "expected a whole number of milliseconds";
const longestTimerMs = 2 ** 31 - 1;

/** A duration in milliseconds, at least `min`, no longer than a timer can be. */
export function durationMs(min: number): z.ZodMiniNumber {
  return z
    .int(wholeMs)
    .check(z.gte(min, `expected at least ${min} ms`), z.lte(longestTimerMs, "longer than a timer can be"));
}

/** A value with the named methods: stores, clocks and loggers are taken by their shape. */
export function withMethods<T>(...methods: (keyof T & string)[]): z.ZodMiniCustom<T, T> {
  return z.custom<T>(
    (value) =>
      (typeof value === "object" || typeof value === "function") &&
      value !== null &&
      methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function"),
    `expected an object with ${methods.map((method) => `${method}()`).join(", ")}`,
  );
}

export const loggerOption: z.ZodMiniCustom<Logger, Logger> = withMethods<Logger>(
  "debug",
  "info",
  "warn",
  "error",
);
