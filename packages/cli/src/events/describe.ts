import type { SeenType } from "@esim-webhooks/core/drift";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { count } from "../terminal/quantities.ts";
import { minuteOf, withSeenTypes } from "./drift.ts";
import type { DescribeFlags } from "./flags.ts";

/** Prints the fields that were seen of a type: as a catalog with zod, or as a JSON Schema. */
export async function describe(this: CliContext, flags: DescribeFlags, type: string): Promise<void> {
  await withSeenTypes(this, flags, async (seen) => {
    const found = seen.find((each) => each.type === type);
    if (found === undefined) throw notSeen(type, seen);
    this.output.data(flags.json ? JSON.stringify(jsonSchemaOf(found), null, 2) : zodText(found));
  });
}

function notSeen(type: string, seen: readonly SeenType[]): Error {
  const names = seen.map(({ type }) => type).join(", ");
  return invalidUsage(
    `No event of the type "${type}" was seen yet.`,
    names ? `Name one of these: ${names}.` : "serve notes the types that it receives.",
  );
}

function seenText({ seen, since }: SeenType): string {
  return `seen ${count(seen)} times since ${minuteOf(since)}`;
}

type Field = SeenType["fields"][number];

const zodOf: Readonly<Record<Field["types"][number], string>> = {
  null: "z.null()",
  string: "z.string()",
  number: "z.number()",
  boolean: "z.boolean()",
  array: "z.array(z.unknown())",
  object: "z.looseObject({})",
};

/** The named fields, beginning with those that every event had. A field whose name is data has the name `*` here. */
function namedFields({ fields }: SeenType): readonly Field[] {
  return fields.filter(({ name }) => name !== "*").toSorted((a, b) => Number(b.always) - Number(a.always));
}

function zodText(found: SeenType): string {
  const lines = namedFields(found).map(({ name, types, always }) => {
    const [first = "z.unknown()", ...others] = types.map((type) => zodOf[type]);
    const schema = others.length === 0 ? first : `z.union([${[first, ...others].join(", ")}])`;
    return `    ${JSON.stringify(name)}: ${always ? schema : `${schema}.optional().catch(undefined)`},`;
  });
  return [
    'import { defineCatalog } from "@esim-webhooks/core";',
    'import * as z from "zod";',
    "",
    `// ${seenText(found)}. A field is required if every event had it. The others may have any form: one that was not seen is left out.`,
    "export const catalog = defineCatalog({",
    `  ${JSON.stringify(found.type)}: z.looseObject({`,
    ...lines,
    "  }),",
    "});",
  ].join("\n");
}

function jsonSchemaOf(found: SeenType): object {
  const fields = namedFields(found);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $comment: seenText(found),
    title: found.type,
    type: "object",
    properties: Object.fromEntries(
      fields.map(({ name, types, always }) => [
        name,
        always ? { type: types } : { $comment: `seen as ${types.join(" or ")}, not in every event` },
      ]),
    ),
    required: fields.filter(({ always }) => always).map(({ name }) => name),
  };
}
