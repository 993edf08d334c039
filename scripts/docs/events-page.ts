import { type EsimEvents, esimCatalog } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { type Member, packageExports } from "./read-types.ts";

/** The doc comment of an event type, and the fields of its data. */
export interface EventDoc {
  readonly type: keyof EsimEvents;
  readonly doc: string;
  readonly fields: readonly Member[];
}

/** Reads the doc comments of every event type of the catalog, in the catalog's order. */
export function readEvents(): readonly EventDoc[] {
  const events = packageExports().membersOf("@esim-webhooks/core", "EsimEvents");
  return esimCatalog.types.map((type) => {
    const event = events.find(({ name }) => name === type);
    if (event === undefined) throw new Error(`EsimEvents has no ${type}.`);
    const fields = event.members().toSorted((one, other) => Number(one.optional) - Number(other.optional));
    return { type, doc: event.doc, fields };
  });
}

const marker =
  "<!-- Made by npm run docs from the doc comments in packages/core/src/event/esim-events.ts: edit those. -->";

/** docs/events.md: what is above the marker stays, the rest is generated. */
export function eventsPage(page: string, events: readonly EventDoc[]): string {
  return `${page.slice(0, page.indexOf(marker))}${marker}

## All types

| type | sent when | |
|---|---|---|
${events.map(row).join("\n")}

${events.map(section).join("\n\n")}
`;
}

function row({ type, doc }: EventDoc): string {
  const mark = isExperimental(doc) ? " experimental " : " ";
  return `| [\`${type}\`](#${anchorOf(type)}) | ${firstSentence(doc)} |${mark}|`;
}

function section({ type, doc, fields }: EventDoc): string {
  const lists = fields.filter(hasList).map(({ name, doc }) => `Values of \`${name}\`:\n\n${afterFirst(doc)}`);
  return [`## \`${type}\``, doc, fieldTable(fields), ...lists, example(type)].join("\n\n");
}

function fieldTable(fields: readonly Member[]): string {
  const rows = fields.map((field) => {
    const type = hasList(field) ? "string" : field.type;
    return `| \`${field.name}\` | ${type} | ${field.optional ? "" : "always"} | ${firstParagraph(field.doc)} |`;
  });
  return ["| field of `data` | type | present | |", "|---|---|---|---|", ...rows].join("\n");
}

function example(type: keyof EsimEvents): string {
  const envelope = { type, timestamp: "2026-11-20T09:30:00.000Z", data: sampleData(type) };
  return `\`\`\`json\n${JSON.stringify(envelope, null, 2)}\n\`\`\``;
}

/** How the doc comment of an event begins whose payload may change without notice. */
export const experimental = "**Experimental.** ";
export const isExperimental = (doc: string): boolean => doc.startsWith(experimental);
const hasList = ({ doc }: Member): boolean => doc.includes("\n\n");
const firstParagraph = (doc: string): string => doc.split("\n\n")[0]?.replaceAll("\n", " ") ?? "";
const afterFirst = (doc: string): string => doc.split("\n\n").slice(1).join("\n\n");
const firstSentence = (doc: string): string =>
  firstParagraph(doc)
    .replace(experimental, "")
    .split(/(?<=\.) /)[0] ?? "";
const anchorOf = (type: string): string => type.replaceAll(".", "");
