import { Kysely } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll } from "vitest";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { driverSuite } from "./driver-suite.ts";
import { createSchema, type TestSchema } from "./schema.ts";

expectWarnings("event_dead", "short_retention");

let shop: TestSchema;
let kysely: Kysely<never>;
beforeAll(async () => {
  shop = await createSchema();
  const client = postgres(postgresUrl, { max: 10, onnotice: () => {} });
  kysely = new Kysely<never>({ dialect: new PostgresJSDialect({ postgres: client }) });
});
afterAll(async () => {
  await kysely.destroy();
  await shop.drop();
});

driverSuite("postgres.js", () => ({ kysely, schema: shop.schema }));
