import type { OpenAPIHono } from "@hono/zod-openapi";
import * as z from "zod";
import { issueToken } from "../../account/tokens.ts";
import { Refused } from "../../base/refused.ts";
import type { Service } from "../../base/service.ts";
import type { CallContext, Environment, Middleware } from "../call/environment.ts";
import { errorResponses, HttpRefusal } from "../call/error-answer.ts";

export const tokenPath = "/auth/token";

const formats = { form: "application/x-www-form-urlencoded", json: "application/json" } as const;

const requestSchema = z
  .object({
    grant_type: z.literal("client_credentials").optional(),
    client_id: z.string().meta({ description: "The 6-digit reference of the client" }),
    client_secret: z.string(),
  })
  .meta({ id: "TokenRequest" });

const answerSchema = z
  .object({
    access_token: z.string(),
    token_type: z.literal("Bearer"),
    expires_in: z.int().meta({ description: "Seconds" }),
  })
  .meta({ id: "Token" });

/** `POST /auth/token`, which is not like other operations: it needs no token, and may take forms. */
export function addTokenEndpoint(
  app: OpenAPIHono<Environment>,
  service: Service,
  middlewares: readonly Middleware[],
): void {
  const { tokenFormat } = service.switches;
  const taken = Object.entries(formats).filter(([name]) => tokenFormat === "both" || tokenFormat === name);
  const mediaTypes = taken.map(([, mediaType]) => mediaType);

  app.openAPIRegistry.registerPath({
    method: "post",
    path: tokenPath,
    summary: "Get an access token for 24 hours (OAuth 2.0 client credentials)",
    request: {
      body: {
        required: true,
        content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: requestSchema }])),
      },
    },
    responses: {
      200: { description: "OK", content: { "application/json": { schema: answerSchema } } },
      ...errorResponses([400, 401, 429, 500], [], service.switches),
    },
  });
  app.on("POST", [tokenPath], ...middlewares, async (context: CallContext) => {
    const { client_id, client_secret } = await readRequest(context, mediaTypes);
    const { accessToken, expiresInSeconds } = issueToken(service, client_id, client_secret);
    const answer: z.input<typeof answerSchema> = {
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: expiresInSeconds,
    };
    return context.json(answer, 200, { "cache-control": "no-store" });
  });
}

async function readRequest({ req }: CallContext, mediaTypes: readonly string[]) {
  const mediaType = req.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (!mediaTypes.includes(mediaType)) {
    throw new Refused(
      "invalid",
      `The content type of the body is not one that this call takes. Send content-type: ${mediaTypes.join(" or ")}.`,
    );
  }
  const body = mediaType === formats.form ? readForm(await req.text()) : readJson(await req.text());
  const read = requestSchema.safeParse(body);
  if (read.success) return read.data;
  if (read.error.issues.some(({ path }) => path[0] === "grant_type")) {
    throw new Refused("invalid", "This grant_type is not for clients. Send grant_type=client_credentials.");
  }
  throw new HttpRefusal(401, "The credentials are missing. Send client_id and client_secret in the body.");
}

function readForm(text: string): unknown {
  return Object.fromEntries(new URLSearchParams(text));
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused("invalid", "The body is not JSON. Correct it, and send it as UTF-8.");
  }
}
