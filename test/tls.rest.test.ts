import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { redisStore } from "@esim-webhooks/store-redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type TestAuthority, testAuthority } from "./servers/certificates.ts";
import { privateRedis, type TestServer } from "./servers/index.ts";
import { freePort } from "./servers/kept-server.ts";

let authority: TestAuthority;
let server: TestServer;
let admin: Redis;
let url: string;
beforeAll(async () => {
  authority = await testAuthority();
  const port = await freePort();
  url = `rediss://localhost:${port}`;
  const { cert, key, ca } = authority;
  const files = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca];
  server = await privateRedis("--tls-port", String(port), ...files, "--tls-auth-clients", "no");
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.close();
  await authority.close();
});

const withCa = () => new Redis(url, { tls: { ca: readFileSync(authority.ca) }, maxRetriesPerRequest: 1 });

const users = {
  redisStore: (redis: Redis | string) => redisStore(redis as Redis),
  bullmqInbox: (connection: Redis | string) => bullmqInbox({ connection }),
};

async function serve(host: string, days: number): Promise<void> {
  authority.issue(host, days);
  await admin.config("SET", "tls-cert-file", authority.cert);
}

const ofCertificate =
  /has a certificate that was not accepted.*tls of a Redis client.*host name or the certificate/;

describe.each(Object.keys(users) as (keyof typeof users)[])(
  "%s on a Redis with a certificate of a private authority",
  (name) => {
    /** Resolves to the error's message and its cause's code; undefined once the store is ready. */
    async function refusal(connection: Redis | string) {
      const store = users[name](connection);
      if (typeof connection !== "string") connection.on("error", () => {});
      try {
        await store.ready();
        return undefined;
      } catch (error) {
        const { message, cause } = error as Error;
        let last = cause as { code?: unknown; cause?: unknown } | undefined;
        while (last?.cause) last = last.cause as typeof last;
        return { message, code: last?.code };
      } finally {
        await store.close();
        if (typeof connection !== "string") connection.disconnect();
      }
    }

    it("is ready with a client that has its certificate", async () => {
      expect(await refusal(withCa())).toBeUndefined();
    });

    it("says how to pass the authority, when only the URL is passed", async () => {
      expect(await refusal(url)).toEqual({
        message: expect.stringMatching(ofCertificate),
        code: "SELF_SIGNED_CERT_IN_CHAIN",
      });
    });

    it.each([
      ["has expired", "localhost", -1, "CERT_HAS_EXPIRED"],
      ["is for another host", "db.example", 3650, "ERR_TLS_CERT_ALTNAME_INVALID"],
    ])("says that the certificate is refused when it %s", async (_, host, days, code) => {
      const earlier = getCACertificates("default");
      onTestFinished(() => setDefaultCACertificates(earlier));
      setDefaultCACertificates([...earlier, readFileSync(authority.ca, "utf8")]); // as NODE_EXTRA_CA_CERTS does at the start
      await serve(host, days);
      expect(await refusal(url)).toEqual({ message: expect.stringMatching(ofCertificate), code });
      await serve("localhost", 3650);
      expect(await refusal(url)).toBeUndefined();
    });
  },
);
