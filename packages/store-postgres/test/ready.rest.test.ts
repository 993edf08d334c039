import type { StateStore } from "@esim-webhooks/core";
import { packageVersion } from "@esim-webhooks/core/internal";
import {
  type PostgresOptions,
  postgresInbox,
  postgresState,
  postgresStore,
} from "@esim-webhooks/store-postgres";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../test/inbox-entry.ts";
import { privatePostgres } from "../../../test/servers/index.ts";
import { loggerTo } from "../../../test/support/loggers.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { inSchema, migrations } from "../src/database/migrations.ts";
import { settleFunctions } from "../src/schema/settle-functions.ts";
import { createSchema, type TestSchema } from "./schema.ts";
import { withDefaults } from "./settings.ts";

expectWarnings("database_newer", "missing_rights", "read_only_store", "schema_mismatch");

let shop: TestSchema;
beforeEach(async () => {
  shop = await createSchema();
  await postgresStore({ pool: shop.pool(1), schema: shop.schema }).migrate();
});
afterEach(() => shop.drop());

type Open = (options: PostgresOptions) => Pick<StateStore, "ready" | "capabilities" | "close">;

const kinds: readonly (readonly [string, Open])[] = [
  ["postgresStore", (options) => postgresStore(options)],
  ["postgresInbox", (options) => postgresInbox(options)],
  ["postgresState", (options) => postgresState(options)],
];

describe.each(kinds)("ready() of %s", (_, open) => {
  const ready = (defaults: Readonly<Record<string, string>> = {}) =>
    open({ pool: shop.pool(1, withDefaults(shop, defaults)), schema: shop.schema }).ready();
  const migration = () => sql.id(shop.schema, "migration");

  it("resolves on a server that does what the store does, and leaves nothing there", async () => {
    await ready();
    for (const table of ["event", "state"]) {
      expect((await sql`select from ${sql.id(shop.schema, table)}`.execute(shop.db)).rows).toEqual([]);
    }
  });

  it("rejects on a server that only reads", async () => {
    await expect(ready({ default_transaction_read_only: "on" })).rejects.toMatchObject({
      code: "read_only_store",
      message: expect.stringContaining("Connect to the primary"),
    });
  });

  it("rejects for a role that may only select, and says what to grant", async () => {
    const role = sql.id(shop.schema);
    await sql`create role ${role}`.execute(shop.db);
    try {
      await sql`grant usage on schema ${sql.id(shop.schema)} to ${role}`.execute(shop.db);
      await sql`grant select on all tables in schema ${sql.id(shop.schema)} to ${role}`.execute(shop.db);
      await expect(ready({ role: shop.schema })).rejects.toMatchObject({
        code: "missing_rights",
        message: expect.stringMatching(/permission denied for .*Grant it USAGE/),
      });
      await sql`grant insert, update, delete on all tables in schema ${sql.id(shop.schema)} to ${role}`.execute(
        shop.db,
      );
      await sql`grant usage on all sequences in schema ${sql.id(shop.schema)} to ${role}`.execute(shop.db);
      await ready({ role: shop.schema });
    } finally {
      await sql`drop owned by ${role}`.execute(shop.db);
      await sql`drop role ${role}`.execute(shop.db);
    }
  });

  it("rejects for a schema that a newer version has migrated and that this one cannot work with, and says which can", async () => {
    const [next, later] = [migrations.length + 1, migrations.length + 2];
    await sql`insert into ${migration()} (number, id, oldest, version) values
      (${next}, 'a', ${next}, '7.0.0'), (${later}, 'b', ${next}, '7.1.0')`.execute(shop.db);
    await expect(ready()).rejects.toMatchObject({
      code: "database_newer",
      message: `The schema "${shop.schema}" is at migration ${later}. It needs a version that knows migration ${next}, and version ${packageVersion} knows only ${migrations.length}. Run version 7.1.0 or a newer one in every process. docs/upgrading.md of esim-webhooks says what a rollback needs.`,
    });
  });

  it("resolves for a schema that a newer version has migrated, if all its migrations allow this one", async () => {
    const next = migrations.length + 1;
    await sql`insert into ${migration()} (number, id, oldest, version) values
      (${next}, 'a', ${migrations.length}, '7.0.0'), (${next + 1}, 'b', 1, '7.1.0')`.execute(shop.db);
    await ready();
  });

  it("rejects for a schema with a migration of another text under the same number", async () => {
    await sql`update ${migration()} set id = 'another'`.execute(shop.db);
    await expect(ready()).rejects.toMatchObject({
      code: "schema_mismatch",
      message: expect.stringMatching(/its migration 1 is "another", and this version's is "[0-9a-f]{16}"/),
    });
  });

  it("warns that unlogged tables are emptied by a crash, and capabilities.durable is false", async () => {
    const store = open({ pool: shop.pool(1), schema: shop.schema });
    await store.ready();
    expect(store.capabilities.durable).toBe(true);
    for (const table of ["event", "state"]) {
      await sql`alter table ${sql.id(shop.schema, table)} set unlogged`.execute(shop.db);
    }
    const lines: string[] = [];
    const note = (_: unknown, message: string) => void lines.push(message);
    const logger = loggerTo(note);
    const unlogged = open({ pool: shop.pool(1), schema: shop.schema, logger });
    await unlogged.ready();
    expect(unlogged.capabilities.durable).toBe(false);
    expect(lines).toContainEqual(
      expect.stringContaining("are unlogged, so a crash of the server empties them"),
    );
  });
});

describe("a schema whose tables do not fit, although its migrations do", () => {
  const open = () => postgresInbox({ pool: shop.pool(1), schema: shop.schema });

  /** As a function of another text would settle. */
  async function replaceSettle(): Promise<void> {
    const settle = settleFunctions.find((text) => text.includes("set state = 'done'")) ?? "";
    const other = settle.replace("set state = 'done'", "set state = null");
    const text = inSchema(shop.schema, other.replace("create function", "create or replace function"));
    await sql.raw(text).execute(shop.db);
  }

  it("is refused by ready() when no worker could settle", async () => {
    await replaceSettle();
    await expect(open().ready()).rejects.toMatchObject({
      code: "schema_mismatch",
      message: expect.stringContaining('null value in column "state"'),
    });
  });

  it("is refused by ready() when no worker could take", async () => {
    await sql`alter table ${sql.id(shop.schema, "event")} drop column suspect`.execute(shop.db);
    await expect(open().ready()).rejects.toMatchObject({ code: "schema_mismatch" });
  });

  it("is named by the operations of a process that was running", async () => {
    const inbox = open();
    await inbox.put([entry("msg_1")]);
    const taken = await inbox.take({ limit: 1, leaseMs: 60_000 });
    await replaceSettle();
    const done = taken.map((lease) => ({ ...lease, state: "done" as const }));
    await expect(inbox.settle(done)).rejects.toMatchObject({ code: "schema_mismatch" });
  });
});

describe("migrate()", () => {
  it.each([
    [
      "of a newer version",
      () =>
        sql`insert into ${sql.id(shop.schema, "migration")} (number, id, oldest, version) values (1000, '', 2, '7.0.0')`,
      "database_newer",
    ],
    [
      "of other migrations",
      () => sql`update ${sql.id(shop.schema, "migration")} set id = 'another'`,
      "schema_mismatch",
    ],
    [
      "whose list of migrations was lost",
      () => sql`drop table ${sql.id(shop.schema, "migration")}`,
      "schema_mismatch",
    ],
  ])("rejects for a schema %s, and changes nothing", async (_, change, code) => {
    await change().execute(shop.db);
    await expect(postgresStore({ pool: shop.pool(1), schema: shop.schema }).migrate()).rejects.toMatchObject({
      code,
    });
  });
});

describe("a server with fsync = off", () => {
  it("is not durable, and says so", async () => {
    const server = await privatePostgres({ fsync: "off" });
    const lines: string[] = [];
    const note = (_: unknown, message: string) => void lines.push(message);
    const store = postgresStore({
      url: server.url,
      logger: loggerTo(note),
    });
    try {
      await store.migrate();
      await store.ready();
      expect(store.capabilities.durable).toBe(false);
      expect(lines).toContainEqual(expect.stringContaining("fsync = off"));
    } finally {
      await store.close();
      await server.close();
    }
  });
});
