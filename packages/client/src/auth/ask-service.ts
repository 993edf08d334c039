import * as z from "zod/mini";
import { parseWith } from "../base/check-request.ts";
import { perform, type Transport } from "../http/perform.ts";
import { readAnswer } from "../http/read-answer.ts";
import type { Token } from "./tokens.ts";

/** How the body of a token request is encoded. The API does not say; OAuth 2.0, whose client credentials it uses, has `form`. */
export type TokenRequest = "form" | "json";

/** The credentials of the client: OAuth 2.0 client credentials (RFC 6749). */
export interface Credentials {
  /** The client's reference, six digits. */
  readonly clientId: string;
  /** The secret that belongs to it. Never logged. */
  readonly clientSecret: string;
}

const daySeconds = 24 * 60 * 60;

const tokenFields = z.object({
  access_token: z.string().check(z.minLength(1)),
  expires_in: z.nullish(z.union([z.number(), z.pipe(z.string(), z.transform(Number))])),
});
const wrapped = z.object({ data: z.looseObject({}) });

/**
 * Exchanges client credentials for a token. Asking twice only gives two tokens, so the request is repeated like a GET. An answer
 * that does not say how long its token is valid means 24 hours.
 */
export async function askForToken(
  transport: Transport,
  baseUrl: string,
  { clientId, clientSecret }: Credentials,
  form: TokenRequest,
  timeoutMs: number,
): Promise<Token> {
  transport.secrets.add(clientSecret);
  for (const encoded of [clientSecret, `${clientId}:${clientSecret}`]) // the latter as HTTP Basic has it
    transport.secrets.add(Buffer.from(encoded).toString("base64").replace(/=+$/, ""));
  const fields = {
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: clientSecret,
  };
  const operation = {
    name: "auth.token",
    method: "POST",
    url: `${baseUrl}/auth/token`,
    headers: {
      accept: "application/json",
      "content-type": form === "json" ? "application/json" : "application/x-www-form-urlencoded",
    },
    body: form === "json" ? JSON.stringify(fields) : new URLSearchParams(fields).toString(),
    idempotencyKey: undefined,
    isHarmless: true,
    isConfidential: true,
    priority: "high",
  } as const;
  const { answer, run } = await perform(transport, operation, { timeoutMs });
  const token = readAnswer(operation, run, answer, (json) => {
    const { success, data } = wrapped.safeParse(json);
    return parseWith(tokenFields, success ? data.data : json);
  });
  const seconds = token.expires_in ?? daySeconds;
  return { accessToken: token.access_token, expiresInSeconds: seconds > 0 ? seconds : daySeconds };
}
