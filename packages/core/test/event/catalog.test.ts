import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import {
  createCatalog,
  defineCatalog,
  type EsimEvents,
  esimCatalog,
  WebhookError,
} from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const timestamp = "2026-11-20T12:00:00Z";
const someReferences = { profileReference: "4812009377150264", esimReference: "730155284096617302" };

const notUtf8 = Buffer.from([0xff]); // what brotli makes has no first bytes of its own

function parse(envelope: unknown, catalog = esimCatalog) {
  return catalog.parse("msg_1", Buffer.from(JSON.stringify(envelope)));
}

function parseData(type: keyof EsimEvents, data: unknown) {
  return parse({ type, timestamp, data });
}

describe("the eSIM catalog", () => {
  it("says how a body that was compressed before it was signed is compressed, by its bytes or by its header", () => {
    const body = Buffer.from(JSON.stringify({ type: "esim.enabled", timestamp, data: {} }));
    const plain = "the body is not UTF-8";
    const signedAs = (format: string) => `the body is ${format} data: it was signed after compression`;
    for (const [bytes, encoding, message] of [
      [gzipSync(body), undefined, signedAs("gzip")],
      [zstdCompressSync(body), undefined, signedAs("zstd")],
      ...[0, 1, 6, 9].map((level) => [deflateSync(body, { level }), undefined, signedAs("deflate")] as const),
      [gzipSync(body), "br", signedAs("gzip")], // the bytes are surer
      [notUtf8, "br", signedAs("br")],
      [notUtf8, "Deflate", signedAs("deflate")],
      [notUtf8, "gzip, br", plain],
      [notUtf8, "made-up", plain],
      [notUtf8, undefined, plain],
      [body.subarray(1), "br", "the body is not JSON"],
    ] as const)
      expect(esimCatalog.parse("msg_1", bytes, encoding)).toMatchObject({ issues: [{ message }] });
  });

  it("has the twelve eSIM events of the spec and package.ended", () => {
    expect([...esimCatalog.types].sort()).toEqual([
      "esim.assigned",
      "esim.balance.updated",
      "esim.deleted",
      "esim.disabled",
      "esim.downloaded",
      "esim.enabled",
      "esim.faulted",
      "esim.installed",
      "esim.lifecycle.activated",
      "esim.lifecycle.suspended",
      "esim.lifecycle.terminated",
      "esim.mccswitch",
      "package.ended",
    ]);
  });

  it.each(esimCatalog.types)("knows %s, and gives its data as it was sent", (type) => {
    const data = sampleData(type);
    expect(parseData(type, data)).toEqual({
      kind: "known",
      type,
      event: { id: "msg_1", type, timestamp, data },
    });
  });

  // as the spec has them, word for word
  const references = ["profileReference", "esimReference"];
  const lifecycle = [...references, "lifecycleStatus"];
  const required: Readonly<Record<keyof EsimEvents, readonly string[]>> = {
    "esim.assigned": [...references, "iccid"],
    "esim.downloaded": references,
    "esim.installed": references,
    "esim.enabled": references,
    "esim.disabled": references,
    "esim.deleted": references,
    "esim.faulted": [...references, "reason"],
    "esim.mccswitch": [...references, "newMcc"],
    "esim.lifecycle.suspended": lifecycle,
    "esim.lifecycle.activated": lifecycle,
    "esim.lifecycle.terminated": lifecycle,
    "esim.balance.updated": [
      ...references,
      "updateType",
      "source",
      "reason",
      "amount",
      "balanceAfter",
      "currency",
    ],
    "package.ended": [],
  };
  it.each(esimCatalog.types)("requires of %s the fields that the spec requires, and no others", (type) => {
    const all = parseData(type, {});
    const paths = all.kind === "invalid" ? all.issues.map((issue) => issue.path) : [];
    expect(paths.sort()).toEqual(required[type].map((field) => `data.${field}`).sort());
    const least: Record<string, unknown> = { ...sampleData(type) };
    for (const field of Object.keys(least)) if (!required[type].includes(field)) delete least[field];
    expect(parseData(type, least).kind).toBe("known");
    for (const field of required[type]) {
      expect(parseData(type, { ...least, [field]: null }).kind).toBe("invalid");
      expect(parseData(type, { ...least, [field]: { not: "this" } }).kind).toBe("invalid");
    }
  });

  it.each([{ codes: ["8.1.1"], message: "refused" }, ["8.1.1"], 811, true, null, "8.1.1: refused"])(
    "keeps the free-form detail of an experimental event as it came: %j",
    (detail) => {
      const data = { ...sampleData("esim.faulted"), detail };
      expect(parseData("esim.faulted", data)).toMatchObject({ kind: "known", event: { data } });
    },
  );

  it("keeps the codes of networks as they came, text or numbers, since the spec gives them no type", () => {
    const data = {
      ...sampleData("esim.mccswitch"),
      previousMcc: 206,
      previousMnc: 1,
      newMcc: 204,
      newMnc: "08",
    };
    expect(parseData("esim.mccswitch", data)).toMatchObject({ kind: "known", event: { data } });
    const first = { ...data, previousMcc: null, previousMnc: null };
    expect(parseData("esim.mccswitch", first).kind).toBe("known");
    expect(parseData("esim.mccswitch", { ...data, newMnc: {} }).kind).toBe("invalid");
  });

  it.each([{ reason: { code: "removed", message: null } }, { reason: 7 }, { reason: null }, {}])(
    "takes package.ended with any reason or none, since the spec gives it no type: %j",
    (data) => {
      expect(parseData("package.ended", data)).toMatchObject({ kind: "known", event: { data } });
    },
  );

  it("takes an amount of whole minor units, and no fraction of one", () => {
    const data = sampleData("esim.balance.updated");
    expect(parseData("esim.balance.updated", { ...data, amount: -1500, balanceAfter: 0 }).kind).toBe("known");
    expect(parseData("esim.balance.updated", { ...data, amount: 1.5 }).kind).toBe("invalid");
    const beyond = JSON.parse('{"amount":9007199254740993,"balanceAfter":123456789012345678901234}');
    expect(parseData("esim.balance.updated", { ...data, ...beyond })).toMatchObject({
      kind: "known",
      event: { data: { amount: 9007199254740992 } },
    });
    expect(parseData("esim.balance.updated", { ...data, amount: "1500" }).kind).toBe("invalid");
  });

  it("takes the lifecycle status that the event type says, and any previous one", () => {
    const data = sampleData("esim.lifecycle.suspended");
    expect(parseData("esim.lifecycle.suspended", { ...data, lifecycleStatus: "active" }).kind).toBe(
      "invalid",
    );
    expect(parseData("esim.lifecycle.suspended", { ...data, previousLifecycleStatus: "paused" }).kind).toBe(
      "known",
    );
  });

  it("requires the iccid in esim.assigned and in no other event", () => {
    const without = esimCatalog.types.filter((type) => {
      const { iccid: _, ...others } = { iccid: "", ...sampleData(type) };
      return parseData(type, others).kind === "invalid";
    });
    expect(without).toEqual(["esim.assigned"]);
  });

  it("keeps unknown fields, accepts unknown reasons, and parses no reference", () => {
    const data = {
      profileReference: "x/Ω",
      esimReference: " ",
      reason: "sunspots",
      provider: { code: [1, null] },
    };
    expect(parseData("esim.faulted", data)).toMatchObject({ kind: "known", event: { data } });
  });

  it("takes null in an optional field as absent", () => {
    const parsed = parseData("esim.installed", { ...someReferences, iccid: null, eid: null });
    expect(parsed).toMatchObject({ kind: "known", event: { data: someReferences } });
    const data: Record<string, unknown> = parsed.kind === "known" ? { ...parsed.event.data } : {};
    expect([data["iccid"], data["eid"]]).toEqual([undefined, undefined]);
  });

  it("finds a wrong type, in an optional field too, and says where without quoting it", () => {
    const parsed = parseData("esim.faulted", { ...someReferences, reason: 7, eid: 89049032 });
    expect(parsed).toMatchObject({
      kind: "invalid",
      type: "esim.faulted",
      event: null,
      issues: [{ path: "data.eid" }, { path: "data.reason" }],
    });
    expect(JSON.stringify(parsed)).not.toContain("89049032");
  });
});

describe("the envelope", () => {
  const valid = { type: "esim.installed", timestamp, data: someReferences };

  it("tells known, unknown and invalid apart", () => {
    expect(parse(valid).kind).toBe("known");
    expect(parse({ ...valid, type: "esim.teleported" })).toEqual({
      kind: "unknown",
      type: "esim.teleported",
      event: { id: "msg_1", type: "esim.teleported", timestamp, data: someReferences },
    });
    expect(parse({ ...valid, data: { ...someReferences, esimReference: 1 } }).kind).toBe("invalid");
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "takes %s for an unknown type",
    (type) => {
      expect(parse({ ...valid, type }).kind).toBe("unknown");
    },
  );

  it.each([
    "2026-11-20T12:00:00Z",
    "2026-11-20T12:00:00.123456+01:00",
    "2026-11-20t12:00:00z",
    "2026-11-20 12:00:00-00:00",
    "2024-02-29T23:59:59Z",
    "2016-12-31T23:59:60Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999+23:59",
  ])("takes %s for a date-time", (given) => {
    expect(parse({ ...valid, timestamp: given }).kind).toBe("known");
  });

  it.each([
    "1",
    "soon",
    "",
    "2026-11-20",
    1700000000,
    null,
    "2026-11-20T12:00:00",
    "2026-11-20T12:00Z",
    "2026-11-20T12:00:00Zjunk",
    " 2026-11-20T12:00:00Z",
    "2026-11-20T12:00:00Z\n",
    "2026-11-20T12:00:00.Z",
    "2026-13-20T12:00:00Z",
    "2026-00-20T12:00:00Z",
    "2026-11-31T12:00:00Z",
    "2026-11-00T12:00:00Z",
    "2025-02-29T12:00:00Z",
    "1900-02-29T12:00:00Z",
    "2026-11-20T24:00:00Z",
    "2026-11-20T12:60:00Z",
    "2026-11-20T12:00:61Z",
    "2026-11-20T12:00:00+24:00",
    "2026-11-20T12:00:00+0100",
  ])("does not take %j for a date-time", (given) => {
    expect(parse({ ...valid, timestamp: given })).toMatchObject({
      kind: "invalid",
      type: "esim.installed",
      event: null,
      issues: [{ path: "timestamp" }],
    });
  });

  it.each([undefined, null, 7, "", ["esim.installed"]])("has no type in the type %j", (type) => {
    expect(parse({ ...valid, type })).toMatchObject({
      kind: "invalid",
      type: null,
      issues: [{ path: "type" }],
    });
  });

  it("takes the id from the webhook-id, even if the body has another", () => {
    expect(parse({ ...valid, id: "another" })).toMatchObject({
      event: { id: "msg_1", extra: { id: "another" } },
    });
  });

  it.each(["esim.installed", "esim.teleported"])("keeps its unknown fields in event.extra: %s", (type) => {
    const extra = { apiVersion: "2027-01", trace: { hops: [1, null] }, extra: false };
    const { event } = parse({ ...valid, ...extra, type });
    expect(event).toMatchObject({ id: "msg_1", type, timestamp, extra });
    expect(esimCatalog.check(JSON.parse(JSON.stringify(event))).event).toEqual(event);
  });

  it("has no extra without unknown fields, and never a prototype from one", () => {
    expect(parse(valid).event).not.toHaveProperty("extra");
    const body = Buffer.from(`{"__proto__":{"polluted":1},${JSON.stringify(valid).slice(1)}`);
    const extra = esimCatalog.parse("msg_1", body).event?.extra;
    expect([Object.keys(extra ?? {}), extra?.["polluted"]]).toEqual([["__proto__"], undefined]);
  });

  it.each(["esim.installed", "esim.teleported"])(
    "keeps a field of its data that is named __proto__, as a field and not as a prototype: %s",
    (type) => {
      const data = JSON.parse('{"__proto__":{"polluted":1}}') as object;
      Object.defineProperties(data, Object.getOwnPropertyDescriptors(someReferences));
      const { event } = parse({ ...valid, type, data });
      expect(JSON.stringify(event?.data)).toContain('"__proto__":{"polluted":1}');
      expect(Object.getPrototypeOf(event?.data)).toBe(Object.prototype);
      expect(event?.data).not.toHaveProperty("polluted");
    },
  );

  it("of an event from a queue is invalid if its extra is no object", () => {
    const checked = esimCatalog.check({ ...valid, id: "msg_1", extra: [] as never });
    expect(checked).toMatchObject({ kind: "invalid", issues: [{ path: "extra" }] });
  });

  it("is invalid, not an exception, for any bytes and any JSON that is none", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          expect(esimCatalog.parse("msg_1", bytes).kind).toBe("invalid");
        },
      ),
    );
  });

  it("keeps every unknown field of any JSON object that is sent along", () => {
    const extra = fc.dictionary(
      fc.string().filter((key) => !["iccid", "eid"].includes(key)),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(extra, (fields) => {
        const data = JSON.parse(JSON.stringify({ ...fields, ...someReferences })) as object;
        expect(parse({ ...valid, data })).toMatchObject({ kind: "known", event: { data } });
      }),
    );
  });
});

describe("defineCatalog", () => {
  it("adds event types, keeps the eSIM ones, and replaces one of the same name", () => {
    const catalog = defineCatalog({
      "package.created": z.object({ packageReference: z.string() }),
      "package.ended": z.object({ packageReference: z.string() }),
    });
    expect(catalog.types).toHaveLength(14);
    const created = catalog.parse(
      "1",
      Buffer.from(JSON.stringify({ type: "package.created", timestamp, data: {} })),
    );
    expect(created).toMatchObject({ kind: "invalid", issues: [{ path: "data.packageReference" }] });
    expect(
      catalog.check({ id: "2", type: "package.ended", timestamp, data: { reason: "removed" } }).kind,
    ).toBe("invalid");
    expect(catalog.check({ id: "3", type: "esim.installed", timestamp, data: someReferences }).kind).toBe(
      "known",
    );
  });

  it.each(["*", "package.*"])("refuses the pattern %s, which no event has for its type", (type) => {
    expect(() => defineCatalog({ [type]: z.object({}) })).toThrow(/is a pattern\. Name each event type/);
  });

  it("says that a schema must be synchronous when one is not", () => {
    const catalog = defineCatalog({ "package.created": z.object({}).refine(async () => true) });
    const check = () => catalog.check({ id: "1", type: "package.created", timestamp, data: {} });
    expect(check).toThrow(WebhookError);
    expect(check).toThrow(/"package.created" validates asynchronously\. Keep schemas synchronous/);
  });

  it.each([null, {}, "string"])("says at start-up when a schema is none: %s", (schema) => {
    expect(() => defineCatalog({ "package.created": schema } as never)).toThrow(
      /"package.created" is not a Standard Schema\. Give/,
    );
  });

  it("says in an issue what was expected, without the value that a library's message quotes", () => {
    const quoting = (path: readonly string[], message: string) => ({
      "~standard": {
        version: 1 as const,
        vendor: "quoting",
        validate: () => ({ issues: [{ path, message }] }),
      },
    });
    const data = { name: "Jan Peeters", iccid: 8932042000, list: ["8932042000010012344"] };
    const messages: readonly (readonly [readonly string[], string, string])[] = [
      [["name"], 'Invalid type: Expected number but received "Jan Peeters"', "Invalid type: Expected number"],
      [["name"], 'Invalid email: Received "Jan Peeters"', "Invalid email"],
      [["iccid"], "Invalid input: expected string, received number", "Invalid input: expected string"],
      [["iccid"], "iccid must be a string (was 8932042000)", "iccid must be a string"],
      [["name"], "Jan Peeters is no customer", "does not fit the schema"],
      [["list", "0"], "unexpected 8932042000010012344", "does not fit the schema"],
      [["gone", "deeper"], "expected a string", "expected a string"],
    ];
    for (const [path, message, expected] of messages) {
      const catalog = createCatalog({ "a.b": quoting(path, message) });
      expect(catalog.check({ id: "1", type: "a.b", timestamp, data })).toMatchObject({
        issues: [{ path: ["data", ...path].join("."), message: expected }],
      });
    }
  });

  it("takes any Standard Schema, also one written by hand", () => {
    const schema = {
      "~standard": {
        version: 1 as const,
        vendor: "by-hand",
        validate: (value: unknown) =>
          (value as { ok?: boolean }).ok
            ? { value: { ok: true } }
            : { issues: [{ message: "not ok", path: [{ key: "ok" }] }] },
      },
    };
    const catalog = createCatalog<{ "a.b": { ok: boolean } }>({ "a.b": schema });
    expect(catalog.check({ id: "1", type: "a.b", timestamp, data: { ok: true } }).kind).toBe("known");
    expect(catalog.check({ id: "1", type: "a.b", timestamp, data: {} })).toMatchObject({
      issues: [{ path: "data.ok" }],
    });
  });
});
