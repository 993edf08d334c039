import { closestMatch } from "leven";
import { en } from "zod/locales";
import * as z from "zod/mini";
import { WebhookError } from "./errors.ts";
import type { Logger } from "./logger.ts";
import { isLogTape } from "./logtape-logger.ts";
import { safeLogger } from "./safe-logger.ts";
import { isWinston } from "./winston-logger.ts";

/** `Did you mean "…"?` when one of the names is similar, else all names. */
export function suggest(name: string, names: readonly string[]): string {
  const near = closestMatch(name, names, { maxDistance: Math.max(3, Math.floor(name.length / 3)) });
  return near === undefined ? `There are: ${names.join(", ")}.` : `Did you mean "${near}"?`;
}

// zod/mini has no messages; `zod` has them in fifty languages, which would all be in every bundle
const inEnglish = en().localeError;

/** `Options` after parsing: every option has a value, except those without a default (`WithoutDefault`). */
export type SettingsOf<Options, WithoutDefault extends keyof Options = never> = {
  [Name in keyof Options as Exclude<Name, WithoutDefault>]-?: Exclude<Options[Name], undefined>;
} & { [Name in WithoutDefault]: Options[Name] | undefined };

/** The schema of each option. */
export type OptionsShape<Settings> = { readonly [Name in keyof Settings]-?: z.core.$ZodType<Settings[Name]> };

/**
 * Parses the options that were passed to the function `caller`. Throws `invalid_option`, which names every issue. `remedy` says how to
 * fix a wrong value, unless the schema of the option has its own.
 */
export function parseOptions<Settings>(
  caller: string,
  shape: OptionsShape<Settings>,
  options: unknown,
  remedy = "Correct the options: their docstrings say what each takes, with units and ranges.",
): Settings {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new WebhookError(
      "invalid_option",
      options === undefined ? "there are no options." : "the options are not an object.",
      `Pass them by name: ${examplesOf(Object.keys(shape), options)}.`,
      { where: caller },
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
  const remedies = result.error.issues.flatMap((issue): readonly string[] => {
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => suggest(key, Object.keys(shape)));
    return [(issue.code === "custom" && issue.params?.["remedy"]) || remedy];
  });
  throw new WebhookError("invalid_option", `${problems.join("; ")}.`, [...new Set(remedies)].join(" "), {
    where: caller,
    option: String(result.error.issues[0]?.path[0] ?? unknownKeys[0] ?? "") || undefined,
  });
}

/** Returns an example with the first three names. If the caller passed nothing or a text, probably a `url` or `path`: with only that name, if there is one. */
function examplesOf(names: readonly string[], passed: unknown): string {
  const place = names.find((name) => name === "url" || name === "path");
  if (place !== undefined && (passed === undefined || typeof passed === "string")) return `{ ${place} }`;
  return names.length > 3 ? `{ ${names.slice(0, 3).join(", ")}, … }` : `{ ${names.join(", ")} }`;
}

const wholeMs = "expected a whole number of milliseconds";
const longestTimerMs = 2 ** 31 - 1;

/** The schema of a duration in ms, from `min` to the longest that a timer of Node.js can wait. */
export function durationMs(min: number): z.ZodMiniNumber {
  return z
    .int(wholeMs)
    .check(
      z.gte(min, `expected at least ${min} ms`),
      z.lte(longestTimerMs, `expected at most ${longestTimerMs} ms, the longest timer`),
    );
}

/** The schema of any object or function that has the named methods, such as a store or a clock. */
export function withMethods<T>(...methods: (keyof T & string)[]): z.ZodMiniCustom<T, T> {
  return z.custom<T>(
    (value) =>
      (typeof value === "object" || typeof value === "function") &&
      value !== null &&
      methods.every((method) => hasMethod(value, method)),
    `expected an object with ${methods.map((method) => `${method}()`).join(", ")}`,
  );
}

/** A kind of argument that can be recognised: an inbox or a store by its methods, a map of handlers by its keys, a promise by its class. */
export type Kind = "an inbox" | "a map of handlers" | "a dedupe store" | "a promise";

/** Arguments by name: the value that was passed, and the kinds that are accepted there. */
export type Places = Readonly<Record<string, readonly [passed: unknown, ...right: Kind[]]>>;

/**
 * Throws `invalid_option` if an argument plainly belongs elsewhere, or was not awaited. Lets all other values pass.
 * @param caller the function that was called, for the message
 * @param places the arguments of that function
 * @param usage a sentence that says what to pass
 */
export function checkArguments(caller: string, places: Places, usage: string): void {
  for (const [name, [passed, ...right]] of Object.entries(places)) {
    const kind = kindOf(passed);
    if (kind === undefined || right.includes(kind)) continue;
    throw new WebhookError(
      "invalid_option",
      `${kind} was passed as the ${name}.`,
      kind === "a promise" ? "Await it." : `${isSwapped(kind, places) ? "Swap the arguments. " : ""}${usage}`,
      { where: caller },
    );
  }
}

/** Whether an argument that should be of this kind is another value, so that the two were probably swapped. */
function isSwapped(kind: Kind, places: Places): boolean {
  return Object.values(places).some(
    ([passed, ...right]) =>
      right.includes(kind) && passed !== undefined && !right.some((one) => one === kindOf(passed)),
  );
}

function kindOf(value: unknown): Kind | undefined {
  if (value instanceof Promise) return "a promise";
  if (hasMethod(value, "put") || (hasMethod(value, "take") && hasMethod(value, "settle"))) return "an inbox";
  if (hasMethod(value, "claim") && hasMethod(value, "complete")) return "a dedupe store";
  return areHandlers(value) ? "a map of handlers" : undefined;
}

/** Whether a value has functions under names of event types, families or the star. No option has such a name. */
function areHandlers(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, entry]) => /[.*]/.test(name) && typeof entry === "function");
}

/** Whether a value of any type has the method. */
export function hasMethod(value: unknown, method: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[method] === "function";
}

/** The schema of an option `logger`: an object with the four methods of `Logger`, which is made safe. Loggers of winston and LogTape are adapted. */
export const loggerOption: z.ZodMiniType<Logger> = z.pipe(
  z.custom<Logger>(
    (value) =>
      isWinston(value) ||
      isLogTape(value) ||
      ["debug", "info", "warn", "error"].every((level) => hasMethod(value, level)),
    {
      error: "expected an object with debug(), info(), warn(), error()",
      params: { remedy: "Pass consoleLogger(), or a logger such as pino." },
    },
  ),
  z.transform(safeLogger),
);
