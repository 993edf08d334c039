import { readFileSync } from "node:fs";
import { join } from "node:path";
import { esimCatalog } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { eventsPage, readEvents } from "../scripts/docs/events-page.ts";
import { root } from "./run.ts";

const events = readEvents();

describe("docs/events.md", () => {
  it("is what npm run docs makes of the doc comments", () => {
    const page = readFileSync(join(root, "docs/events.md"), "utf8");
    expect(page).toBe(eventsPage(page, events));
  });

  it.each(events)("says of $type when it is sent, what usually follows and what to do", ({ doc }) => {
    expect(doc).toMatch(/^[^\n]+.*\n\n\*\*Next:\*\* .*\n\n\*\*Do:\*\* /s);
  });

  it.each(events)("describes the fields of $type, and says which are always there", ({ type, fields }) => {
    for (const { name, doc, type } of fields) {
      expect(doc, name).toMatch(/\.$/);
      expect(type, name).not.toBe("");
    }
    const none = esimCatalog.check({ id: "1", type, timestamp: "2026-11-20T09:30:00Z", data: {} });
    const required = none.kind === "invalid" ? none.issues.map(({ path }) => path.replace("data.", "")) : [];
    const always = fields.filter(({ optional }) => !optional).map(({ name }) => name);
    expect(always.sort()).toEqual(required.sort());
    const described = fields.map(({ name }) => name);
    if (type !== "package.ended")
      expect(described).toEqual(expect.arrayContaining(Object.keys(sampleData(type))));
  });
});
