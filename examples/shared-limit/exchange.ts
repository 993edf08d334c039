// The token is kept in Redis, and one process at a time asks the service for another.
import { setTimeout } from "node:timers/promises";
import type { TokenExchange } from "@esim-webhooks/client";
import { redis } from "./redis.ts";

export const exchange: TokenExchange = async ({ refused }, askService) => {
  for (;;) {
    const kept = JSON.parse((await redis.get("partner-token")) ?? "null");
    // a token that is due is not returned: the client wants another one
    if (kept !== null && Date.now() < kept.renewAt && kept.accessToken !== refused) {
      return { accessToken: kept.accessToken, expiresInSeconds: (kept.endsAt - Date.now()) / 1000 };
    }
    // one process asks; if it fails, another one does after five seconds
    if (await redis.set("partner-token-lock", "1", "PX", 5000, "NX")) break;
    await setTimeout(100);
  }
  const askedAt = Date.now();
  const token = await askService();
  const lifeMs = Math.floor(token.expiresInSeconds * 1000);
  // a little before the clients renew it, which is five minutes or a tenth of its life before its end
  const renewAt = askedAt + lifeMs - Math.min(6 * 60_000, lifeMs / 8);
  const kept = { accessToken: token.accessToken, renewAt, endsAt: askedAt + lifeMs };
  await redis.set("partner-token", JSON.stringify(kept), "PX", lifeMs);
  return token;
};
