import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { type PostgresOptions, postgresState } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestAuthority, testAuthority } from "../../../test/servers/certificates.ts";
import { privatePostgres, type TestServer } from "../../../test/servers/index.ts";

let authority: TestAuthority;
let server: TestServer;
let admin: pg.Client;
beforeAll(async () => {
  authority = await testAuthority();
  server = await privatePostgres({ ssl: "on", ssl_cert_file: authority.cert, ssl_key_file: authority.key });
  admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  const state = postgresState({ url: server.url });
  await state.migrate();
  await state.close();
});
afterAll(async () => {
  await admin.end();
  await server.close();
  await authority.close();
});

function urlWith(parameters: Readonly<Record<string, string>>): string {
  const url = new URL(server.url);
  url.hostname = "localhost";
  for (const [name, value] of Object.entries({ application_name: "tls", ...parameters }))
    url.searchParams.set(name, value);
  return url.href;
}

const trusted = () => urlWith({ sslmode: "verify-full", sslrootcert: authority.ca });

/** Resolves to the error's message and its cause's code; undefined once the store is ready. */
async function refusal(options: PostgresOptions): Promise<{ message: string; code: unknown } | undefined> {
  const state = postgresState(options);
  try {
    await state.ready();
    const { rows } = await admin.query(
      "select bool_and(ssl) as encrypted from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'tls'",
    );
    expect(rows).toEqual([{ encrypted: true }]);
    return undefined;
  } catch (error) {
    const { message, cause } = error as Error;
    return { message, code: (cause as { code?: unknown } | undefined)?.code };
  } finally {
    await state.close();
  }
}

/** The server reads its certificate again, in its own time. */
async function serve(host: string, days: number): Promise<void> {
  authority.issue(host, days);
  await admin.query("select pg_reload_conf()");
}

const ofCertificate =
  /has a certificate that was not accepted.*sslrootcert of a postgres:\/\/ URL.*NODE_EXTRA_CA_CERTS.*host name or the certificate/;

describe("a server whose certificate is of a private authority", () => {
  it("is used with sslmode=verify-full and sslrootcert in the URL", async () => {
    expect(await refusal({ url: trusted() })).toBeUndefined();
  });

  it("is used by a pool with ssl: { ca }", async () => {
    const ssl = { ca: readFileSync(authority.ca, "utf8") };
    const pool = new pg.Pool({ connectionString: urlWith({}), ssl });
    expect(await refusal({ pool })).toBeUndefined();
    await pool.end();
  });

  it("is used with NODE_EXTRA_CA_CERTS", async () => {
    const script = `import { postgresState } from "@esim-webhooks/store-postgres";
      const state = postgresState({ url: process.env.STORE_URL });
      await state.ready();
      await state.close();`;
    const environment = { STORE_URL: urlWith({ sslmode: "verify-full" }), NODE_EXTRA_CA_CERTS: authority.ca };
    await promisify(execFile)(
      process.execPath,
      ["--conditions=@esim-webhooks/source", "--input-type=module", "--eval", script],
      { cwd: import.meta.dirname, env: { ...process.env, ...environment } },
    );
  });

  it("is refused without the authority, and the error says how to pass it", async () => {
    expect(await refusal({ url: urlWith({ sslmode: "verify-full" }) })).toEqual({
      message: expect.stringMatching(ofCertificate),
      code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    });
  });

  it.each([
    ["has expired", "localhost", -1, "CERT_HAS_EXPIRED"],
    ["is for another host", "db.example", 3650, "ERR_TLS_CERT_ALTNAME_INVALID"],
  ])("is refused when it %s, and works again with a new one", async (_, host, days, code) => {
    await serve(host, days);
    await expect
      .poll(() => refusal({ url: trusted() }))
      .toEqual({ message: expect.stringMatching(ofCertificate), code });
    await serve("localhost", 3650);
    await expect.poll(() => refusal({ url: trusted() })).toBeUndefined();
  });
});
