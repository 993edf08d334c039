import { readFile } from "node:fs/promises";
import { esimCatalog } from "@esim-webhooks/core";
import { suggest } from "@esim-webhooks/core/internal";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { table } from "../terminal/table.ts";
import type { EventsFlags } from "./flags.ts";

/** Lists the event types, or prints the AsyncAPI document or the JSON Schema of one type's data. */
export async function events(
  this: CliContext,
  { asyncapi, json }: EventsFlags,
  type?: string,
): Promise<void> {
  const { output } = this;
  if (type !== undefined) {
    checkType(type, asyncapi);
    output.data(await readEventFile(`${type}.schema.json`));
    return;
  }
  const document = await readEventFile("asyncapi.json");
  if (asyncapi) {
    output.data(document);
    return;
  }
  const { components }: AsyncApi = JSON.parse(document);
  const types = Object.values(components.messages).map((message) => ({
    type: message.name,
    summary: message.summary,
    experimental: message["x-experimental"] === true,
  }));
  if (json) output.json(types);
  else
    for (const line of table(
      [{ title: "type" }, { title: "sent when" }],
      types.map((it) => [it.type, it.experimental ? `${it.summary} (experimental)` : it.summary]),
    ))
      output.data(line);
}

interface AsyncApi {
  readonly components: {
    readonly messages: Readonly<
      Record<string, { readonly name: string; readonly summary: string; readonly "x-experimental"?: boolean }>
    >;
  };
}

function checkType(type: string, asyncapi: boolean | undefined): void {
  if (asyncapi) throw invalidUsage("The AsyncAPI document has all types.", "Give --asyncapi without a type.");
  const types: readonly string[] = esimCatalog.types;
  if (!types.includes(type))
    throw invalidUsage(`No documented event type is called "${type}".`, suggest(type, types));
}

async function readEventFile(name: string): Promise<string> {
  const text = await readFile(new URL(import.meta.resolve(`@esim-webhooks/core/events/${name}`)), "utf8");
  return text.trimEnd();
}
