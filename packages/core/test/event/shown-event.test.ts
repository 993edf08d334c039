import { esimCatalog } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskEvent, readBody } from "../../src/event/shown-event.ts";

describe("maskEvent", () => {
  it("masks ICCID and EID of an event, and shows references and reasons", () => {
    const data = {
      profileReference: "1234567890123456",
      esimReference: "123456789012345678",
      iccid: "8932042000001234567",
      eid: "89049032123451234512345678901235",
      reason: "download_failed",
      detail: "the device of +32470123456 hung up",
    };
    expect(maskEvent({ type: "esim.faulted", timestamp: "2026-11-20T14:03:05Z", data })).toEqual({
      type: "esim.faulted",
      timestamp: "2026-11-20T14:03:05Z",
      data: { ...data, iccid: "•••", eid: "•••", detail: "the device of ••• hung up" },
    });
  });

  it("shows only the names of fields that are not in the spec", () => {
    const event = {
      type: "portin.completed",
      data: { msisdn: 32470123456, note: "Jan", donor: { sims: ["a", 1] } },
    };
    expect(maskEvent(event)).toEqual({
      type: "portin.completed",
      data: { msisdn: "•••", note: "•••", donor: { sims: ["•••", "•••"] } },
    });
  });

  it("masks a phone number in a harmless field", () => {
    expect(maskEvent({ source: "32470123456", code: 32470123456, reason: { message: "Jan" } })).toEqual({
      source: "•••",
      code: "•••",
      reason: { message: "•••" },
    });
  });

  it("masks a field name that is an ICCID", () => {
    expect(maskEvent({ "8932042000001234567": true })).toEqual({ "•••": true });
  });

  it("keeps null, true, false and the shape", () => {
    expect(maskEvent({ a: null, b: true, c: [], d: {} })).toEqual({ a: null, b: true, c: [], d: {} });
  });

  it("stops at a depth limit in deeply nested JSON", () => {
    const deep = JSON.parse(`${"[".repeat(5000)}"8932042000001234567"${"]".repeat(5000)}`) as unknown;
    expect(JSON.stringify(maskEvent(deep))).not.toContain("8932042000001234567");
  });

  it.each([...esimCatalog.types])("leaves no ICCID and no EID in a sample of %s", (type) => {
    const { iccid, eid, ...shown } = { ...sampleData(type) } as Record<string, unknown>;
    const text = JSON.stringify(maskEvent({ type, data: { ...shown, iccid, eid } }));
    for (const personal of [iccid, eid])
      if (typeof personal === "string") expect(text).not.toContain(personal);
  });

  it("never shows a string in an unknown field", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 4 }), (secret) => {
        const text = JSON.stringify(maskEvent({ data: { [`x_${secret.length}`]: `§${secret}§` } }));
        return !text.includes("§");
      }),
    );
  });
});

describe("readBody", () => {
  const shown = (json: string) => JSON.stringify(readBody(Buffer.from(json)).json);

  it("keeps all digits of numbers that JavaScript would round", () => {
    const json = '{"big":12345678901234567890,"exact":1.10,"power":1e400,"small":7}';
    expect(shown(json)).toBe(json);
  });

  it("gives numbers that JavaScript holds exactly as numbers", () => {
    expect(readBody(Buffer.from('{"amount":1500}')).json).toEqual({ amount: 1500 });
  });

  it("gives the text of a body that is not JSON, or that is nested too deeply to be printed", () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    expect(readBody(Buffer.from("no JSON"))).toEqual({ text: "no JSON" });
    expect(readBody(Buffer.from(deep))).toEqual({ text: deep });
  });

  it("gives nothing of a body that is not UTF-8", () => {
    expect(readBody(Uint8Array.of(0xff))).toEqual({ text: null });
  });

  it("has numbers that maskEvent shows with all digits, or masks if they are long", () => {
    const json = '{"amount":1.10,"data":{"code":12345678901234567890,"note":1.10}}';
    const { json: read } = readBody(Buffer.from(json));
    expect(JSON.stringify(maskEvent(read))).toBe('{"amount":1.10,"data":{"code":"•••","note":"•••"}}');
  });
});
