import { gzipSync } from "node:zlib";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";

export const secret: string = newSecret();
const at = new Date("2026-11-01T12:00:00.000Z");
const event = { id: "msg_1", type: "esim.enabled", data: sampleData("esim.enabled") };
/** The request that all shapes contain. */
export const request: { readonly headers: Readonly<Record<string, string>>; readonly body: string } =
  signedRequest(event, { secret, at });
const { headers, body } = request;
const receivedAt = at.toISOString();
const inBase64 = (encoding: "base64" | "base64url") => Buffer.from(body).toString(encoding);
const changed = (change: (name: string, value: string) => [string, unknown]) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => change(name, value)));

interface Shape {
  readonly headers: unknown;
  readonly body: unknown;
  readonly receivedAt: unknown;
  readonly isBase64Encoded?: boolean;
}

const shape = (change: Partial<Shape>): Shape => ({ headers, body, receivedAt, ...change });

const named = Object.entries(headers).map(([name, value]) => ({ name, value }));
const lines = named.map(({ name, value }) => `${name}: ${value}`);

const inShape: readonly (readonly [name: string, shape: Shape])[] = [
  ["as it was sent", shape({})],
  ["with its body as base64", shape({ body: inBase64("base64") })],
  ["with its body as base64url", shape({ body: inBase64("base64url") })],
  [
    "with its body as base64 on several lines",
    shape({ body: inBase64("base64").replace(/.{76}/g, "$&\r\n") }),
  ],
  ["with its body as base64 and isBase64Encoded", shape({ body: inBase64("base64"), isBase64Encoded: true })],
  ["with its body as an object", shape({ body: JSON.parse(body) })],
  ["with its body as JSON writes a Buffer", shape({ body: Buffer.from(body).toJSON() })],
  ["with its body as JSON writes a Uint8Array", shape({ body: { ...Uint8Array.from(Buffer.from(body)) } })],
  ["with its body as a list of bytes", shape({ body: [...Buffer.from(body)] })],
  ["with its headers in capitals", shape({ headers: changed((name, value) => [name.toUpperCase(), value]) })],
  ["with lists of values as headers", shape({ headers: changed((name, value) => [name, [value]]) })],
  ["with its headers as a list of pairs", shape({ headers: Object.entries(headers) })],
  ["with its headers as JSON text", shape({ headers: JSON.stringify(headers) })],
  ["with its headers as JSON text of pairs", shape({ headers: JSON.stringify(Object.entries(headers)) })],
  ["with its headers as names and values", shape({ headers: named })],
  ["with its headers as JSON text of names and values", shape({ headers: JSON.stringify(named) })],
  ["with its headers as lines", shape({ headers: lines.join("\n") })],
  [
    "with its headers as a request's head",
    shape({ headers: `POST / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n` }),
  ],
  [
    "with its headers as CGI variables",
    shape({
      headers: changed((name, value) => [`HTTP_${name.toUpperCase().replaceAll("-", "_")}`, value]),
    }),
  ],
  [
    "with underscores in its headers",
    shape({ headers: changed((name, value) => [name.replaceAll("-", "_"), value]) }),
  ],
  ["with other headers that are not text", shape({ headers: { ...headers, "x-hops": 3, via: null } })],
  ["received at milliseconds", shape({ receivedAt: at.getTime() })],
  ["received with an offset from UTC", shape({ receivedAt: "2026-11-01T13:00:30.5+01:00" })],
];

const outOfShape: readonly (readonly [name: string, shape: Shape, reason: RegExp])[] = [
  [
    "received in local time",
    shape({ receivedAt: "2026-11-01T12:00:00" }),
    /no offset, .* end it with "Z" or/,
  ],
  ["received in local time, with a space", shape({ receivedAt: "2026-11-01 12:00:00.5" }), /no offset, /],
  ["received on a day", shape({ receivedAt: "2026-11-01" }), /not a date-time .* such as "2026-/],
  [
    "received at a number that is no time",
    shape({ receivedAt: 20261101 }),
    /not a date-time .* such as "2026-/,
  ],
  ["without headers", shape({ headers: undefined }), /headers are not an object of texts/],
  ["with text as headers", shape({ headers: "none" }), /headers are not an object of texts/],
  [
    "with a list of texts as headers",
    shape({ headers: ["webhook-id", "msg_1"] }),
    /headers are not an object/,
  ],
  [
    "with a webhook-id that is not text",
    shape({ headers: { ...headers, "webhook-id": 5 } }),
    /headers are not/,
  ],
  ["without a body", shape({ body: undefined }), /body is neither text nor an object/],
  ["with a number as body", shape({ body: 5 }), /body is neither text nor an object/],
  ["with a list of other numbers as body", shape({ body: [123, 256] }), /body is neither text nor an object/],
];

/** The bytes of a file with one captured request. */
export interface CapturedFile {
  readonly bytes: Buffer;
  readonly receivedAt: Date;
}

const file = (bytes: string | Buffer, received: unknown = receivedAt): CapturedFile => ({
  bytes: Buffer.from(bytes as string),
  receivedAt: new Date(received as string),
});
const json = JSON.stringify(shape({}));
const page = { data: [shape({})], pagination: {} };
const delivery = { eventId: "msg_1", payload: JSON.parse(body) };

/** Files with one captured request, all authentic: for the import and for `verify` on the command line. */
export const readable: readonly (readonly [name: string, file: CapturedFile])[] = [
  ...inShape.map(([name, one]) => [name, file(JSON.stringify(one), one.receivedAt)] as const),
  ["after a UTF-8 byte order mark", file(`\uFEFF${json}`)],
  ["on several lines", file(JSON.stringify(shape({}), null, 2))],
  ["between empty lines", file(`\r\n\n${json}\n\n`)],
  ["in a JSON array", file(`[${json}]`)],
  ["in a page of records", file(JSON.stringify(page))],
  ["in a page on several lines, after a byte order mark", file(`\uFEFF${JSON.stringify(page, null, 2)}`)],
  ["in gzip", file(gzipSync(json))],
  ["received at seconds", file(JSON.stringify(shape({ receivedAt: at.getTime() / 1000 })))],
  ["received at seconds as text", file(JSON.stringify(shape({ receivedAt: String(at.getTime() / 1000) })))],
  ["with the fields of a delivery record too", file(JSON.stringify({ ...delivery, ...shape({}) }))],
];

/** Files with one record that is not a captured request, and why. */
export const unreadable: readonly (readonly [name: string, bytes: Buffer, reason: RegExp])[] = outOfShape.map(
  ([name, one, reason]) => [name, Buffer.from(JSON.stringify(one)), reason] as const,
);

/** A file with two captured requests. */
export const several: Buffer = Buffer.from(`${json}\n${json}\n`);
