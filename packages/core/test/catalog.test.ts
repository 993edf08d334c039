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
const references = { profileReference: "4812009377150264", esimReference: "730155284096617302" };

function parse(envelope: unknown, catalog = esimCatalog) {
  return catalog.parse("msg_1", Buffer.from(JSON.stringify(envelope)));
}

function parseData(type: keyof EsimEvents, data: unknown) {
  return parse({ type, timestamp, data });
}

describe("the eSIM catalog", () => {
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
    expect(parseData(type, data)).toEqual({ kind: "known", event: { id: "msg_1", type, timestamp, data } });
  });

  it.each(esimCatalog.types)("says of %s which required fields are missing", (type) => {
    const parsed = parseData(type, {});
    const required = Object.keys(sampleData(type)).filter((field) => {
      const { [field]: _, ...others } = sampleData(type) as unknown as Record<string, unknown>;
      return parseData(type, others).kind === "invalid";
    });
    expect(required.length).toBeGreaterThan(0);
    expect(parsed).toMatchObject({ kind: "invalid", id: "msg_1", type });
    const paths = parsed.kind === "invalid" ? parsed.issues.map((issue) => issue.path) : [];
    expect(paths.sort()).toEqual(required.map((field) => `data.${field}`).sort());
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
    const parsed = parseData("esim.installed", { ...references, iccid: null, eid: null });
    expect(parsed).toMatchObject({ kind: "known", event: { data: references } });
    expect(parsed.kind === "known" && "iccid" in parsed.event.data && parsed.event.data.iccid).toBeFalsy();
  });

  it("finds a wrong type, in an optional field too, and says where without quoting it", () => {
    const parsed = parseData("esim.faulted", { ...references, reason: 7, eid: 89049032 });
    expect(parsed).toMatchObject({
      kind: "invalid",
      issues: [{ path: "data.eid" }, { path: "data.reason" }],
    });
    expect(JSON.stringify(parsed)).not.toContain("89049032");
  });
});

describe("the envelope", () => {
  const valid = { type: "esim.installed", timestamp, data: references };

  it("tells known, unknown and invalid apart", () => {
    expect(parse(valid).kind).toBe("known");
    expect(parse({ ...valid, type: "esim.teleported" })).toEqual({
      kind: "unknown",
      event: { id: "msg_1", type: "esim.teleported", timestamp, data: references },
    });
    expect(parse({ ...valid, data: { ...references, esimReference: 1 } }).kind).toBe("invalid");
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "takes %s for an unknown type",
    (type) => {
      expect(parse({ ...valid, type }).kind).toBe("unknown");
    },
  );

  it("takes the id from the webhook-id, whatever the body says", () => {
    expect(parse({ ...valid, id: "another" })).toMatchObject({ event: { id: "msg_1" } });
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
      fc.string().filter((key) => !["__proto__", "iccid", "eid"].includes(key)),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(extra, (fields) => {
        const data = JSON.parse(JSON.stringify({ ...fields, ...references })) as object;
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
    expect(catalog.check({ id: "3", type: "esim.installed", timestamp, data: references }).kind).toBe(
      "known",
    );
  });

  it("says that a schema must be synchronous when one is not", () => {
    const catalog = defineCatalog({ "package.created": z.object({}).refine(async () => true) });
    const check = () => catalog.check({ id: "1", type: "package.created", timestamp, data: {} });
    expect(check).toThrow(WebhookError);
    expect(check).toThrow(/"package.created" validates asynchronously\. Keep schemas synchronous/);
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
