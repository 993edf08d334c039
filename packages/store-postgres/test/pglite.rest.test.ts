import { createRequire } from "node:module";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { installed } from "../../../test/installed.ts";
import { freePort } from "../../../test/servers/kept-server.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { driverSuite } from "./driver-suite.ts";

expectWarnings("event_dead", "not_durable", "short_retention");

/** The parts of the two packages that the test calls. */
interface Packages {
  readonly PGlite: { create(): Promise<{ close(): Promise<void> }> };
  readonly PGLiteSocketServer: new (options: object) => { start(): Promise<void>; stop(): Promise<void> };
}

let close: () => Promise<void>;
let pool: pg.Pool;
beforeAll(async () => {
  const require = createRequire(join(installed("test/pglite"), "_"));
  const { PGlite } = require("@electric-sql/pglite") as Packages;
  const { PGLiteSocketServer } = require("@electric-sql/pglite-socket") as Packages;
  const db = await PGlite.create();
  const port = await freePort();
  const server = new PGLiteSocketServer({ db, port, host: "127.0.0.1" });
  await server.start();
  pool = new pg.Pool({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`, max: 1 });
  close = async () => {
    await pool.end();
    await server.stop();
    await db.close();
  };
});
afterAll(() => close());

driverSuite("PGlite's socket", () => ({ pool }));
