import { packageVersion } from "@esim-webhooks/core/internal";
import { sampleData } from "@esim-webhooks/core/testing";
import * as z from "zod/mini";
import { esimSchemas, integer } from "../../packages/core/src/event/esim-catalog.ts";
import { type EventDoc, experimental, isExperimental, readEvents } from "./events-page.ts";
import type { Member } from "./read-types.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The files of packages/core/events by their names: an AsyncAPI document, and the JSON Schema of each type's data. */
export function eventFiles(): ReadonlyMap<string, string> {
  const events = readEvents();
  const files = new Map<string, object>([["asyncapi.json", asyncApi(events)]]);
  for (const event of events)
    files.set(`${event.type}.schema.json`, { $schema: draft, ...dataSchema(event) });
  return new Map([...files].map(([name, content]) => [name, `${JSON.stringify(content, null, 2)}\n`]));
}

const apiVersion = "3.8.0"; // of the partner API, which the catalog is of
const draft = "http://json-schema.org/draft-07/schema#"; // that of AsyncAPI

function asyncApi(events: readonly EventDoc[]): object {
  const header = (description: string) => ({ type: "string", description });
  return {
    asyncapi: "3.1.0",
    info: {
      title: "Webhooks of the eSIM partner API",
      version: packageVersion,
      description:
        `The events of the API's version ${apiVersion} whose fields are documented. Readers must be tolerant: keep unknown fields, expect other types and other values, ` +
        "any order, and more than one delivery of an event. Made by esim-webhooks from its catalog.",
      license: { name: "MIT" },
    },
    defaultContentType: "application/json",
    channels: {
      endpoint: {
        address: "/webhooks",
        title: "A webhook endpoint",
        description: "The path is that of the URL which you have registered.",
        messages: Object.fromEntries(
          events.map(({ type }) => [type, { $ref: `#/components/messages/${type}` }]),
        ),
      },
    },
    operations: {
      receiveDelivery: {
        action: "receive",
        channel: { $ref: "#/channels/endpoint" },
        summary:
          "Receives one event. The sender tries again after a 5xx, a 408, a connection error, and no answer in 30 s.",
        bindings: { http: { method: "POST", bindingVersion: "0.3.0" } },
      },
    },
    components: {
      messages: Object.fromEntries(events.map((event) => [event.type, message(event)])),
      messageTraits: {
        signed: {
          headers: {
            type: "object",
            required: ["webhook-id", "webhook-timestamp", "webhook-signature"],
            properties: {
              "webhook-id": header("The id of the delivery: the same in all its attempts."),
              "webhook-timestamp": header(
                "Unix seconds, and part of what is signed. Standard Webhooks: the time of the attempt.",
              ),
              "webhook-signature": header(
                "Signatures separated by spaces: `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`.",
              ),
            },
          },
        },
      },
      schemas: Object.fromEntries(events.map((event) => [event.type, dataSchema(event)])),
    },
  };
}

function message({ type, doc }: EventDoc): object {
  const [summary = ""] = doc.replace(experimental, "").split(/(?<=\.)\s/);
  return {
    name: type,
    title: type,
    summary,
    description: doc,
    ...(isExperimental(doc) && { "x-experimental": true }),
    traits: [{ $ref: "#/components/messageTraits/signed" }],
    payload: {
      type: "object",
      required: ["type", "timestamp", "data"],
      properties: {
        type: { const: type },
        timestamp: { type: "string", format: "date-time", description: "When the event occurred." },
        data: { $ref: `#/components/schemas/${type}` },
      },
    },
    examples: [{ payload: { type, timestamp: "2026-11-20T09:30:00.000Z", data: sampleData(type) } }],
  };
}

/** The schema that the catalog checks, with what the doc comments say of its fields. */
function dataSchema({ type, doc, fields }: EventDoc): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(esimSchemas[type].schema, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      if (zodSchema === integer) jsonSchema.type = "integer";
      if (zodSchema._zod.def.type === "custom") jsonSchema.type = ["string", "number"] as never; // a network code
    },
  });
  const described = fields.map((field) => [
    field.name,
    { ...fieldSchema(schema, field), description: field.doc },
  ]);
  return {
    ...schema,
    title: type,
    ...(isExperimental(doc) && { "x-experimental": true }),
    properties: Object.fromEntries(described),
  };
}

function fieldSchema({ properties = {} }: JsonSchema, { name, type, doc }: Member): object {
  const known = Array.from(type.matchAll(/`"(.*?)"`/g), ([, value]) => value);
  return {
    ...(properties[name] as object),
    ...(doc.endsWith("a date-time.") && { format: "date-time" }), // the catalog takes any text
    ...(known.length > 1 && { examples: known }), // others are valid too
  };
}
