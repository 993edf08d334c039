import { suggest } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import type { Output } from "../program/context.ts";

/** The known types that a type or a family, such as `esim.lifecycle.*`, matches. */
export function matchingTypes(type: string, known: readonly string[]): readonly string[] {
  if (!type.endsWith("*")) return known.filter((name) => name === type);
  return known.filter((name) => name.startsWith(type.slice(0, -1)));
}

/** Warns about each type or family that matches no known type: a mistyped one would silently select no event. */
export function warnOfUnknownTypes(types: readonly string[], known: readonly string[], output: Output): void {
  for (const type of types.filter((type) => matchingTypes(type, known).length === 0)) {
    const names = type.endsWith("*") ? known.map((name) => name.replace(/[^.]*$/, "*")) : known;
    output.note(
      `Warning (unknown_event_type): --types ${printable(type)} matches no known event type. ${suggest(type, [...new Set(names)])}`,
    );
  }
}
