import type { CliContext } from "../program/context.ts";

/** The only declaration of a flag: the parser, help, completion, the type of its value, errors and the options of a call follow from it. */
export interface Flag<Value, Option extends string = never> {
  readonly kind: "boolean" | "enum" | "parsed";
  /** The effect, for help. */
  readonly brief: string;
  /** The name of its value, for help. */
  readonly placeholder?: string;
  readonly optional?: true | undefined;
  /** The default, as text. */
  readonly default?: string;
  readonly parse?: (this: CliContext, text: string) => unknown;
  /** The values of an enum. */
  readonly values?: readonly string[];
  /** Whether it takes several values, and what separates them; true: the flag is repeated for each. */
  readonly variadic?: true | ",";
  /** A boolean has no `--no-…`. */
  readonly withNegated?: false;
  /** The option of a library that the flag sets. */
  readonly option?: Option;
  /** The value of that option. Default: that of the flag. */
  readonly optionValue?: (value: never) => unknown;
  /** Only for the compiler. Its type includes `undefined` if the flag can be left out. */
  readonly value?: Value;
}

/** The flags of a command, by name. */
export type Flags = Readonly<Record<string, Flag<unknown, string>>>;

type ValueOf<F> = F extends { readonly value?: infer Value } ? Value : never;
type Optional<F> = { [Name in keyof F]: undefined extends ValueOf<F[Name]> ? Name : never }[keyof F];

/** The values of the flags in one call. */
export type FlagValues<F> = {
  readonly [Name in Optional<F>]?: Exclude<ValueOf<F[Name]>, undefined>;
} & { readonly [Name in Exclude<keyof F, Optional<F>>]: ValueOf<F[Name]> };

/** Declares the option that a flag sets, and the option's value if it is not that of the flag. */
export function sets<Value, const Option extends string, As = Exclude<Value, undefined>>(
  option: Option,
  flag: Flag<Value>,
  optionValue?: (value: Exclude<Value, undefined>) => As,
): Flag<Value, Option> & { readonly sets?: As } {
  return { ...flag, option, ...(optionValue && { optionValue }) } as Flag<Value, Option>;
}

type OptionOf<F> = F extends { readonly option?: infer Option extends string } ? Option : never;
type SetBy<F> = F extends { readonly sets?: infer As } ? As : never;

/** The options that the flags of a command set. */
export type OptionsSet<F> = { readonly [Name in keyof F as OptionOf<F[Name]>]?: SetBy<F[Name]> };

/** The options for a library, from the flags of a call. */
export function optionsOf<F extends Flags>(flags: F, values: FlagValues<F>): OptionsSet<F> {
  const set = Object.entries(flags).flatMap(([name, { option, optionValue }]) => {
    const value = (values as Readonly<Record<string, unknown>>)[name];
    if (option === undefined || value === undefined) return [];
    return [[option, optionValue === undefined ? value : optionValue(value as never)]];
  });
  return Object.fromEntries(set);
}
