import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { migrations as postgres } from "../packages/store-postgres/src/database/migrations.ts";
import { migrations as sqlite } from "../packages/store-sqlite/src/database/migrations.ts";

describe.each([
  ["store-postgres", postgres],
  ["store-sqlite", sqlite],
])("each migration of %s", (_, migrations) => {
  it("has the id of its text, so tables of another text are never taken for its own", () => {
    const ids = migrations.map(({ text }) => createHash("sha256").update(text).digest("hex").slice(0, 16));
    expect(migrations.map(({ id }) => id)).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
