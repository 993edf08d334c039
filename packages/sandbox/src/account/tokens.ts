import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";

/** How long a token is valid on the service's clock. */
const tokenLifetimeSeconds: number = 24 * 60 * 60;

export interface AccessToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
}

/** Issues a token; earlier ones stay valid until they expire. Throws `bad_credentials`. */
export function issueToken(service: Service, clientId: string, clientSecret: string): AccessToken {
  const client = service.db.get<{ clientSecret: string }>(
    "select clientSecret from clients where clientReference = ?",
    clientId,
  );
  if (client === undefined || !timingSafeEqual(sha256(client.clientSecret), sha256(clientSecret))) {
    throw new Refused(
      "bad_credentials",
      "No client has this client_id and client_secret. Use those that support gave you.",
    );
  }
  const accessToken = randomBytes(32).toString("base64url");
  const now = service.clock.now();
  service.db.transaction(() => {
    service.db.run("delete from tokens where expiresAt <= ?", now);
    service.db.run(
      "insert into tokens (hash, clientReference, expiresAt) values (?, ?, ?)",
      sha256(accessToken).toString("hex"),
      clientId,
      now + tokenLifetimeSeconds * 1000,
    );
  });
  return { accessToken, expiresInSeconds: tokenLifetimeSeconds };
}

/** The reference of the client that the token belongs to; undefined if there is no such token, or it has expired. */
export function clientOfToken(service: Service, accessToken: string): string | undefined {
  return service.db.get<{ clientReference: string }>(
    "select clientReference from tokens where hash = ? and expiresAt > ?",
    sha256(accessToken).toString("hex"),
    service.clock.now(),
  )?.clientReference;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
