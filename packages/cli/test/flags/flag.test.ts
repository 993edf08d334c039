import { describe, expect, it } from "vitest";
import { rotateFlags } from "../../src/endpoint/flags.ts";
import { optionsOf } from "../../src/flags/flag.ts";
import { type ImportFlags, importFlags } from "../../src/import/flags.ts";

describe("the options of a call", () => {
  it("have the names and the values that the library takes, and none of the command's own flags", () => {
    const flags: ImportFlags = {
      ...{ only: ["failed"], id: ["msg_1"], map: [["eventId", "id"]], force: true },
      ...{ rejects: "bad.ndjson", json: true },
    };
    expect(optionsOf(importFlags, flags)).toEqual({
      ...{ statuses: ["failed"], ids: ["msg_1"], mapping: { eventId: "id" }, force: true },
    });
  });

  it("leave out what was not given, so that the library's default holds", () => {
    expect(optionsOf(rotateFlags, { overlap: 60_000 })).toEqual({ overlapMs: 60_000 });
    expect(optionsOf(rotateFlags, { overlap: 1, noCheck: true })).toEqual({
      overlapMs: 1,
      checkReceivers: false,
    });
  });
});
