import { clientOfToken } from "../../account/tokens.ts";
import type { Service } from "../../base/service.ts";
import type { Middleware } from "./environment.ts";
import { HttpRefusal } from "./http-refusal.ts";

/** Lets calls pass that have a token which is valid now, and says whose it is. */
export function authenticated(service: Service): Middleware {
  return async (context, next) => {
    const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    const clientReference = token === undefined ? undefined : clientOfToken(service, token);
    if (clientReference === undefined) {
      throw new HttpRefusal(
        401,
        "The call has no valid access token. Get one with POST /auth/token, and send it as Authorization: Bearer <token>. A token is valid for 24 hours.",
        { "www-authenticate": "Bearer" },
      );
    }
    context.set("clientReference", clientReference);
    await next();
  };
}
