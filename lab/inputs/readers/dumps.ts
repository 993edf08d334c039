import { gzipSync, zstdCompressSync } from "node:zlib";
import { importDeliveries } from "@esim-webhooks/import";
import { zipSync } from "../../../packages/import/test/dump/packing.ts";
import { inChunks } from "../../../packages/import/test/dump/reading.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { baseGrammar } from "../base-grammar.ts";
import { bytesOf } from "../grammar.ts";
import { checkSecrecy, privates, reader } from "../reader.ts";
import { secrets, signedOf } from "./signed.ts";

const damages = ["damaged_dump", "unknown_dump", "dump_too_large"];

const signed = signedOf([
  "msg_7",
  "$N",
  "v1,$1",
  '{"type":"esim.enabled","timestamp":"2026-11-20T10:00:00Z"}',
]);
const captured = JSON.stringify({
  headers: signed.headers,
  body: signed.body.toString(),
  receivedAt: new Date().toISOString(),
});

const packings: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gzipSync(bytes),
  zstd: (bytes) => zstdCompressSync(bytes),
  zip: (bytes) => zipSync([{ name: "dump", bytes }]),
  stream: (bytes) => zipSync([{ name: "dump.csv", bytes, descriptor: true }]),
  utf: (bytes) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(bytes.toString(), "utf16le")]),
};

/** Packs a text, and then damages it at `place`, such as `7:255`. */
function dumpOf([text = "", packing = "", damage = ""]: readonly string[]): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const packed = Object.hasOwn(packings, packing) ? packings[packing]?.(bytes) : bytes;
  const dump = Buffer.from(packed ?? bytes);
  const [at = 0, value = 0] = damage.split(":").map(Number);
  if (damage.includes(":") && dump.length > 0 && at >= 0 && at < dump.length) dump[at] = value & 255;
  return damage.startsWith("cut") ? dump.subarray(0, dump.length >> 1) : dump;
}

export const dumpReaders = [
  reader({
    name: "dump: every format of an import",
    share: 2,
    grammar: {
      ...baseGrammar,
      record: [
        '{"eventId":"<id>","eventType":"<type>","payload":<event>,"status":"delivered","sentAt":"<time>"}',
        '{"eventId":"<id>","payload":<event>,"<word>":<json>}',
        '{"headers":<headers>,"body":<body>,"receivedAt":"<time>"}',
        captured,
        '{"<word>":<json>}',
        "<json>",
      ],
      headers: [
        '{"webhook-id":"<id>","webhook-timestamp":"<digits>","webhook-signature":"v1,<characters>"}',
        '[["webhook-id","<id>"],["webhook-timestamp",["<digits>"]]]',
        '[{"name":"HTTP_WEBHOOK_ID","value":"<id>"}]',
        '"webhook-id: <id>\\r\\nwebhook-timestamp: 7"',
        "<json>",
      ],
      body: ["<event>", '"<characters>"', '{"type":"Buffer","data":[123,125]}', "[123,125]", "<json>"],
      records: ["<record>", "<record><between><records>"],
      between: ["\n", ",", "\r\n", " ", ""],
      lines: ["<record>", "<record>\n<lines>"],
      page: ['{"data":[<records>],"pagination":{"limit":20,"hasMore":false,"nextCursor":null}}'],
      cell: [
        "<id>",
        '"<id>"',
        '"{""type"":""<type>"",""timestamp"":""<time>"",""data"":{}}"',
        "<characters>",
        "",
      ],
      cells: ["<cell>", "<cell>,<cell>", "<cell>,<cells>", "<cell>;<cell>", "<cell>\t<cell>"],
      rows: ["<cells>", "<cells>\n<rows>", "<cells>\r\n<rows>"],
      csv: [
        "eventId,payload\n<rows>",
        "eventId,eventType,payload\n<rows>",
        "eventId;payload\n<rows>",
        "<rows>",
      ],
      har: [
        '{"log":{"entries":[{"startedDateTime":"<time>","request":{"method":"POST","headers":<headers>,"postData":{"text":<text>}}}]}}',
        '{"log":{"entries":[<records>]}}',
      ],
      dump: [
        "<lines>",
        "<lines>",
        "[<records>]",
        "<page>",
        "<page>\n<page>",
        "<csv>",
        "<csv>",
        "<har>",
        "<long>",
        "<bom><lines>",
        "<records>",
      ],
      bom: [bytesOf("\ufeff"), "PK\u0003\u0004", "\u001f\u008b", "(\u00b5/\u00fd", "\u00ff\u00fe"],
      packing: ["", "", "", "gzip", "zstd", "zip", "stream", "utf"],
      damage: ["", "", "", "cut", "<digits>:<digits>", "<digits>:255", "<digits>:0"],
      chunk: ["65536", "1", "7"],
      trust: ["yes", ""],
    },
    parts: ["<dump>", "<packing>", "<damage>", "<chunk>", "<trust>"],
    throws: ["unsigned_dump"],
    mostCpuMs: 500, // no sender waits for an import
    prepare(input) {
      const dump = dumpOf(input);
      const chunk = Number(input[3]);
      return { dump, chunk: chunk >= 1 && dump.length < 2000 ? chunk : 65_536, trust: input[4] === "yes" };
    },
    call: ({ dump, chunk, trust }) =>
      importDeliveries(
        inChunks(dump, chunk),
        { "*": () => {} },
        { secret: [...secrets], dryRun: true, trustUnsigned: trust, logger: loggerWith() },
      ),
    check({ ledger, damage, types }) {
      const { read, ...fates } = ledger;
      const sum = Object.values(fates).reduce((all, count) => all + count, 0);
      if (read !== sum) throw new Error("the ledger does not balance");
      if (damage !== null && !damages.includes(damage.code)) throw new Error(`damage: ${damage.code}`);
      checkSecrecy(damage?.message ?? "", "the damage", privates.slice(1));
      if (!Object.keys(types).every((type) => /^(?:[\w.-]{1,128}|\((?:none|other)\))$/.test(type)))
        throw new Error("a type that is no name");
    },
  }),
];
