import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { postgresStore } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { installed } from "./installed.ts";
import { root, runCommand } from "./run.ts";
import { freePort } from "./servers/kept-server.ts";
import { postgresUrl } from "./servers/shared.ts";
import { signedDelivery } from "./support/signed-delivery.ts";

const home = mkdtempSync(join(tmpdir(), "esim-webhooks-next-"));
const app = join(home, "app");
const packages = installed("test/next");
const next = join(packages, "next/dist/bin/next");
const secret = newSecret();

const schema = `next_${process.pid}`;
const database = postgresStore({ url: postgresUrl, schema });
const db = new Kysely<unknown>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: postgresUrl }) }),
});

const newDelivery = () => signedDelivery(secret);

const withoutSecret = {
  NEXT_TELEMETRY_DISABLED: "1",
  NODE_ENV: "production",
  ESIM_WEBHOOK_SECRET: "",
};

/** A route whose store, if it has one, is made as its module is loaded. */
function addRoute(name: string, makeStore: string): void {
  mkdirSync(join(app, "app", name), { recursive: true });
  writeFileSync(
    join(app, "app", name, "route.js"),
    `import { webhookHandler } from "@esim-webhooks/core";
${makeStore}
const handlers = { "esim.faulted": ({ data }) => console.log("faulted:", data.reason) };
export const POST = webhookHandler(handlers, ${makeStore === "" ? "{}" : "{ store }"});
`,
  );
}

/** Next.js itself is linked, and so outside the application's folder. */
const linked = { turbopack: { root: "/" }, outputFileTracingRoot: "/" };

/** As the page of store-sqlite has it. */
const standalone = {
  output: "standalone",
  serverExternalPackages: ["@esim-webhooks/store-sqlite"],
  outputFileTracingIncludes: { "/*": ["./node_modules/@esim-webhooks/store-sqlite/dist/**/*"] },
};

function build(config: object, ...flags: string[]): void {
  writeFileSync(join(app, "next.config.js"), `export default ${JSON.stringify({ ...linked, ...config })};`);
  execFileSync(process.execPath, [next, "build", ...flags], {
    cwd: app,
    env: { ...process.env, ...withoutSecret, DATABASE_URL: undefined },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

beforeAll(async () => {
  symlinkSync(join(root, "node_modules"), join(home, "node_modules"));
  mkdirSync(join(app, "node_modules"), { recursive: true });
  for (const name of ["next", "react", "react-dom"]) {
    symlinkSync(join(packages, name), join(app, "node_modules", name));
  }
  for (const name of ["core", "store-postgres", "store-sqlite"]) {
    const folder = join(app, "node_modules/@esim-webhooks", name);
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(root, "packages", name, "package.json"), join(folder, "package.json"));
    // not into the package's own dist, which another test may be packing, and unchecked, since the packages that it uses may not be built
    const built = ["--outDir", join(folder, "dist"), "--tsBuildInfoFile", join(home, `${name}.tsbuildinfo`)];
    execFileSync(join(root, "node_modules/.bin/tsc"), [
      "-p",
      join(root, "packages", name),
      "--noCheck",
      ...built,
    ]);
  }
  writeFileSync(join(app, "package.json"), '{ "type": "module" }');
  addRoute("webhooks", "");
  addRoute(
    "postgres",
    `import { postgresStore } from "@esim-webhooks/store-postgres";
const store = postgresStore({ url: process.env.DATABASE_URL, schema: ${JSON.stringify(schema)} });`,
  );
  addRoute(
    "sqlite",
    `import { sqliteStore } from "@esim-webhooks/store-sqlite";
const store = sqliteStore({ path: ${JSON.stringify(join(home, "events.db"))} });`,
  );
  await database.migrate();
});

afterAll(async () => {
  await sql`drop schema if exists ${sql.id(schema)} cascade`.execute(db);
  await database.close();
  await db.destroy();
  rmSync(home, { recursive: true, force: true });
});

/** Serves the build, as on a server with these variables. */
function start(variables: Record<string, string> = {}) {
  return serve([next, "start", app, "--hostname", "127.0.0.1", "--port", "0"], variables);
}

async function serve(command: readonly string[], variables: Record<string, string>) {
  const server = runCommand(process.execPath, command, { ...withoutSecret, ...variables });
  onTestFinished(() => void server.child.kill());
  const [, url] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  return {
    async deliver(route = "webhooks", delivery = newDelivery()): Promise<[number, unknown]> {
      const response = await fetch(`${url}/${route}`, delivery);
      return [response.status, await response.json()];
    },
    async end(): Promise<string> {
      server.child.kill("SIGTERM");
      return (await server.ended).output;
    },
  };
}

describe.each([["--turbopack"], ["--webpack"]])(
  "a route of Next.js, built by %s without a secret and a database",
  (bundler) => {
    beforeAll(() => build({}, bundler));

    it.each(["postgres", "sqlite"])(
      "remembers a delivery in its %s store beyond a restart",
      async (route) => {
        const variables = { ESIM_WEBHOOK_SECRET: secret, DATABASE_URL: postgresUrl };
        const delivery = newDelivery();
        for (const outcome of ["processed", "duplicate"]) {
          const server = await start(variables);
          expect(await server.deliver(route, delivery)).toEqual([200, { outcome }]);
          await server.end();
        }
      },
    );

    it("works a signed delivery on a server that has the secret", async () => {
      const server = await start({ ESIM_WEBHOOK_SECRET: secret });
      expect(await server.deliver()).toEqual([200, { outcome: "processed" }]);
      expect(await server.end()).toContain("faulted: ");
    });

    it("answers 503 on a server without one, and says once what to set", async () => {
      const server = await start();
      for (let n = 0; n < 2; n++) {
        expect(await server.deliver()).toMatchObject([503, { code: "missing_secret" }]);
      }
      expect((await server.end()).match(/Set ESIM_WEBHOOK_SECRET/g)).toHaveLength(1);
    });
  },
);

it.each([["--turbopack"], ["--webpack"]])(
  "a standalone build of Next.js by %s keeps deliveries in its sqlite store where only its folder is deployed",
  async (bundler) => {
    build(standalone, bundler);
    const deployed = mkdtempSync(join(tmpdir(), "esim-webhooks-next-"));
    const away = `${app}-away`; // the server must not find the packages where they were built
    renameSync(join(app, ".next/standalone"), join(deployed, "standalone"));
    renameSync(app, away);
    onTestFinished(() => {
      renameSync(away, app);
      rmSync(deployed, { recursive: true, force: true });
    });
    const server = await serve([join(deployed, "standalone", app, "server.js")], {
      ESIM_WEBHOOK_SECRET: secret,
      HOSTNAME: "127.0.0.1",
      PORT: String(await freePort()),
    });
    expect(await server.deliver("sqlite")).toEqual([200, { outcome: "processed" }]);
    await server.end();
  },
);
