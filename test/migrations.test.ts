import { packageVersion } from "@esim-webhooks/core/internal";
import { describe, expect, it } from "vitest";
import { migrations as postgres } from "../packages/store-postgres/src/database/migrations.ts";
import { migrations as sqlite } from "../packages/store-sqlite/src/database/migrations.ts";
import { packageVersion as sqliteVersion } from "../packages/store-sqlite/src/database/version.ts";

describe.each([
  ["store-postgres", postgres],
  ["store-sqlite", sqlite],
])("each migration of %s", (_, migrations) => {
  it("names the oldest version that may run with it: none that is later than itself, or than a later one names", () => {
    const oldest = migrations.map(({ oldest }) => oldest);
    expect(oldest).toEqual(oldest.toSorted((a, b) => a - b));
    for (const [index, number] of oldest.entries()) expect(number).toBeLessThanOrEqual(index + 1);
  });
});

it("the version that SQLite records is that of core", () => {
  expect(sqliteVersion).toBe(packageVersion);
});
