// npm run bench -- http: an adapter beside the routes that one would write by hand, other libraries, and hostile load.
import { availableParallelism } from "node:os";
import { newSecret } from "@esim-webhooks/core/testing";
import { privateRedis } from "../test/servers/index.ts";
import { benchFlood } from "./http/flood.ts";
import { benchHostile } from "./http/hostile.ts";
import { benchMiddlewares, benchPeers, benchRedis } from "./http/peers.ts";

export async function benchHttp(): Promise<void> {
  const secret = newSecret();
  console.log(`\n${availableParallelism()} cores for the server and the load`);
  for (const framework of ["fastify", "express"] as const) {
    const { barePerSecond } = await benchPeers(framework, secret);
    await benchHostile(framework, secret, barePerSecond);
  }
  await benchMiddlewares(secret);
  const redis = await privateRedis();
  try {
    for (const framework of ["fastify", "express"] as const) await benchRedis(framework, secret, redis.url);
  } finally {
    await redis.close();
  }
  await benchFlood();
}
