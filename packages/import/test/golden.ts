import { gzipSync, zstdCompressSync } from "node:zlib";
import { type EsimEvents, sign } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { gzipTwo, skippableFrame, zipSync } from "./dump/packing.ts";

/** A test secret: it signs the captured requests of the golden dumps, and nothing else. */
export const goldenSecret: string = `whsec_${Buffer.from("golden dumps of esim-webhooks, test").toString("base64")}`;

/** A dump, with the expected result of its import. */
export interface GoldenDump {
  /** Its file in `golden/`. */
  readonly name: string;
  readonly bytes: Buffer;
  /** As `readDump` recognises them. */
  readonly forms: readonly string[];
  /** Whether its records are signed requests (verified with `goldenSecret`) or need `trustUnsigned`. */
  readonly signed: boolean;
  /** The expected ledger of an import into an empty inbox. */
  readonly ledger: {
    readonly read: number;
    readonly stored: number;
    readonly duplicate: number;
    readonly conflict: number;
    readonly invalid: number;
    readonly filtered: number;
    readonly rejected: number;
  };
  /** The ids that are stored, in the dump's order. */
  readonly ids: readonly string[];
}

const types: readonly (keyof EsimEvents)[] = [
  "esim.assigned",
  "esim.downloaded",
  "esim.installed",
  "esim.enabled",
  "esim.disabled",
  "esim.faulted",
  "esim.mccswitch",
  "esim.lifecycle.suspended",
  "esim.lifecycle.activated",
  "esim.lifecycle.terminated",
  "esim.balance.updated",
  "package.ended",
];
const statuses = ["failed", "exhausted", "delivered"] as const;
const start = Date.UTC(2026, 10, 18, 6);

function deliveryOf(index: number) {
  const type = types[index % types.length] as keyof EsimEvents;
  const status = statuses[index % statuses.length] as (typeof statuses)[number];
  const at = (seconds: number) => new Date(start + (index * 61 + seconds) * 1000).toISOString();
  return {
    eventType: type,
    eventId: idOf(index),
    payload: { type, timestamp: at(0), data: sampleData(type) },
    responseBody: status === "delivered" ? "" : "upstream timed out",
    status,
    attemptNumber: status === "exhausted" ? 10 : 1 + (index % 3),
    httpStatus: status === "delivered" ? 200 : 502,
    nextRetryAt: status === "failed" ? at(3600) : null,
    sentAt: at(1),
    deliveredAt: status === "delivered" ? at(2) : null,
  };
}

function idOf(index: number): string {
  return `evt_golden_${String(index).padStart(4, "0")}`;
}

type CapturedBody = "string" | "base64" | "object";

function capturedOf(index: number, form: CapturedBody) {
  const { payload } = deliveryOf(index);
  const body = JSON.stringify(payload);
  const receivedAt = new Date(Date.parse(payload.timestamp) + 5000);
  const { "webhook-id": id, ...rest } = sign(
    { id: idOf(index), body, timestamp: new Date(receivedAt.getTime() - 2000) },
    goldenSecret,
  );
  return {
    receivedAt: receivedAt.toISOString(),
    headers: { "content-type": "application/json", "Webhook-Id": id, ...rest },
    body: form === "object" ? payload : form === "base64" ? Buffer.from(body).toString("base64") : body,
  };
}

const indexes = Array.from({ length: 24 }, (_, index) => index);
const deliveries = indexes.map(deliveryOf);
// three records twice, as when pages overlap
const listed = [...deliveries, ...deliveries.slice(4, 7)];
const ledgerOfListed = ledger({ stored: 24, duplicate: 3 });
const ids = indexes.map(idOf);

const lines = listed.map((delivery) => JSON.stringify(delivery));
const ndjson = text(`${lines.join("\n")}\n`);
const { payload: _, ...withoutPayload } = deliveryOf(90);
const badLines = [
  `${JSON.stringify(deliveryOf(91)).slice(0, 80)}`,
  "",
  "not a delivery",
  "42",
  JSON.stringify(withoutPayload),
];
const pages = [listed.slice(0, 10), listed.slice(10, 20), listed.slice(20)].map((data, index) => ({
  data,
  pagination: { limit: 10, hasMore: index < 2, nextCursor: index < 2 ? `cur_${index + 1}` : null },
}));
const bodies: readonly CapturedBody[] = ["string", "base64", "object"];
const captured = indexes.slice(0, 9).map((index) => capturedOf(index, bodies[index % 3] as CapturedBody));
const tampered = { ...capturedOf(9, "string"), body: JSON.stringify(deliveryOf(10).payload) };
const columns = Object.keys(deliveryOf(0)) as (keyof ReturnType<typeof deliveryOf>)[];
const csv = [
  columns.join(","),
  ...listed.map((delivery) => columns.map((column) => csvField(delivery[column])).join(",")),
  "cut,off",
].join("\r\n");

/** Makes the golden dumps: one for every format and packing, always with the same content. */
export function goldenDumps(): GoldenDump[] {
  const listing = { signed: false, ledger: ledgerOfListed, ids };
  const half = ndjson.indexOf("\n", ndjson.byteLength / 2) + 1;
  return [
    { name: "lines.ndjson", bytes: ndjson, forms: ["ndjson"], ...listing },
    {
      name: "bad-lines.ndjson",
      bytes: text([...badLines.slice(0, 2), ...lines, ...badLines.slice(2)].join("\n")),
      forms: ["ndjson"],
      ...listing,
      ledger: ledger({ stored: 24, duplicate: 3, invalid: 4 }),
    },
    {
      name: "lines-of-arrays.ndjson",
      bytes: text(pages.map(({ data }) => `${JSON.stringify(data)}\n`).join("")),
      forms: ["ndjson"],
      ...listing,
    },
    { name: "array.json", bytes: text(JSON.stringify(listed)), forms: ["json"], ...listing },
    { name: "array-pretty.json", bytes: text(JSON.stringify(listed, null, 2)), forms: ["json"], ...listing },
    {
      name: "page.json",
      bytes: text(JSON.stringify({ ...pages[2], data: listed })),
      forms: ["json"],
      ...listing,
    },
    {
      name: "pages.json",
      bytes: text(pages.map((page) => JSON.stringify(page, null, 2)).join("\n")),
      forms: ["json"],
      ...listing,
    },
    {
      name: "captured.ndjson",
      bytes: text([...captured, captured[0], tampered].map((one) => `${JSON.stringify(one)}\n`).join("")),
      forms: ["ndjson"],
      signed: true,
      ledger: ledger({ stored: 9, duplicate: 1, rejected: 1 }),
      ids: ids.slice(0, 9),
    },
    {
      name: "deliveries.csv",
      bytes: text(csv),
      forms: ["csv"],
      ...listing,
      ledger: ledger({ stored: 24, duplicate: 3, invalid: 1 }),
    },
    { name: "two-members.ndjson.gz", bytes: gzipTwo(ndjson), forms: ["gzip", "ndjson"], ...listing },
    {
      name: "two-frames.ndjson.zst",
      bytes: Buffer.concat([
        skippableFrame(Buffer.of(1, 2, 3, 4)),
        zstdCompressSync(ndjson.subarray(0, half)),
        zstdCompressSync(ndjson.subarray(half)),
      ]),
      forms: ["zstd", "ndjson"],
      ...listing,
    },
    {
      name: "two-entries.zip",
      bytes: zipSync([
        { name: "README.txt", bytes: "The deliveries that you asked for.\n" },
        { name: "deliveries/", bytes: "", method: "stored" },
        { name: "deliveries/1.ndjson.gz", bytes: gzipSync(ndjson.subarray(0, half)), method: "stored" },
        { name: "deliveries/2.ndjson", bytes: ndjson.subarray(half), descriptor: true },
      ]),
      forms: ["zip", "gzip", "ndjson"],
      ...listing,
      ledger: ledger({ stored: 24, duplicate: 3, invalid: 1 }),
    },
  ];
}

function ledger(counts: Partial<GoldenDump["ledger"]>): GoldenDump["ledger"] {
  const all = { stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0, ...counts };
  return { read: Object.values(all).reduce((sum, count) => sum + count, 0), ...all };
}

function csvField(value: unknown): string {
  const field = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

function text(content: string): Buffer {
  return Buffer.from(content);
}
